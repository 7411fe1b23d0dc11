"""Words that a language uses all the time, and letters that tell it from others of its script.

Only languages that share a script with another of the table are here. Everything is in lower case and NFC.
"""

# ruff: noqa: RUF001  # letters of other scripts that look like Latin ones are meant

from __future__ import annotations

from collections.abc import Mapping

_TABLE = {
    "en": "the of and to in is that for it as was with be by on not he his but at are this have from or had an they"
    " which one you were all her she there would their we him been has when who will more no if out so what up its"
    " about into than them can only your my i do how our should could",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er"
    " hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum haben nur oder aber vor zur bis"
    " mehr durch man dann wir ich wenn ihr sein ihre kann du mir dich",
    "fr": "le la les de des du et en un une est que qui dans pour pas au aux sur par plus avec ce il elle je vous nous"
    " se sont ne cette ces mais ou où son sa ses leur comme être été fait tout votre très aussi",
    "es": "el la los las de del y en un una que es por para con no se lo al su sus como más pero o este esta son está"
    " muy también ya cuando hay sin sobre ser tiene fue yo mi tu nos eso ese nosotros",
    "it": "il lo la i gli le di del della dei delle e è in un una che per con non si da come più ma anche sono nel"
    " nella alla al dal questo questa ho ha hai o se ci mi ti suo sua degli alle essere molto quando perché",
    "pt": "o a os as de do da dos das e em um uma que é para com não se por mais no na nos nas ao à como mas foi ele"
    " ela são seu sua ou ser quando muito já também eu você isso pelo pela até está ter nós",
    "nl": "de het een en van ik te dat die in is niet zijn op aan met als voor er maar om hem dan zou wat mijn men dit"
    " zo door over ze zich bij ook tot je mij uit der naar heb hoe heeft hebben deze want nog zal wij",
    "pl": "i w z na do nie się to że jest jak o co ale po tak za od ja już dla przez być był była oraz ich jego jej"
    " tym może tylko które który która czy są",
    "fi": "ja on ei että se oli hän mutta ovat kun niin kuin myös tai joka sen mitä voi ole olen olla minä sinä he me"
    " tämä tämän jos jotka hänen ne sekä vain nyt sitten kanssa sitä mukaan joten koska",
    "sw": "na ya wa kwa ni za katika la kama cha hii hiyo huu hizi lakini pia au yake wake kuwa kila sana hakuna hili"
    " ambayo ambao watu mtu yangu wangu zaidi baada kabla si tu vya yenye moja wote nini yetu wetu",
    "vi": "và của là có không cho được các với một những này trong để người đã khi từ tôi bạn đó như về nhưng ra thì sẽ"
    " phải rất cũng đến hay nào nếu vì làm trên chúng mình nhiều",
    "ru": "и в не на что с он как это по но они к у из за то все так же от бы ты мы вы для я о его её был быть есть"
    " только или если при уже когда чтобы может",
    "bg": "и в на се да е за от с не че са по като това ще си до но ни или ако който която които със през при тя той"
    " аз ти ви ние има бъде както също трябва много след повече може за един една",
    "uk": "і в не на що з він як це та до у й за але вони ми ви ти я його її для від або якщо при вже коли щоб може є"
    " був бути про також ще які який яка",
    "ar": "في من على إلى أن التي الذي هذا هذه كان لا ما مع عن هو هي أو و كل كما قد لم ذلك بعد إذا ثم حتى بين لكن غير يا"
    " أنا نحن تم أي أنت",
    "fa": "و در به از که این است را با برای آن یک ها می شود بود شد کرد خود تا هم نیز اما یا هر ما من او آنها هستند باید"
    " کند بر اگر شما دارد نمی های ای چه",
    "ur": "اور کے میں کی ہے کا سے کو پر یہ ہیں نے کہ وہ ایک بھی تو ہو تھا جو نہیں گیا کر اس ان لیے تھے ہوں آپ ہم ساتھ"
    " لئے یا جب تک",
    "hi": "है हैं के में की का और से को पर यह कि नहीं एक इस भी हो था थे लिए जो वह या ने तो कर अपने साथ थी ही हम आप मैं जब"
    " कोई कुछ सकते करने रहा रहे",
    "mr": "आहे आहेत आणि हे ही हा या ते तर होते होती एक म्हणून साठी नाही मी तो ती किंवा पण आपण त्या तुम्ही मला आम्ही झाले असे"
    " केले करा करून आपल्या काही मध्ये च्या ला की व जे तुमच्या",
    "ne": "छ छन् र को मा हो पनि यो भने तथा हुन्छ गर्न गर्ने लागि त्यो थियो एक हुन् वा छैन म तर हामी तपाईं तपाईंको आफ्नो"
    " गरेको भएको हुने सँग बाट ले गर्नुहोस् हाम्रो मेरो धेरै",
}
WORDS: Mapping[str, frozenset[str]] = {code: frozenset(words.split()) for code, words in _TABLE.items()}
LETTERS: Mapping[str, frozenset[str]] = {
    "ru": frozenset("ыэё"),
    "uk": frozenset("іїєґ"),
    "ar": frozenset("ةىكإ"),
    "fa": frozenset("پژچگ"),
    "ur": frozenset("ٹڈڑںےہھگچپ"),
    "mr": frozenset("ळ"),
    "de": frozenset("ß"),
    "pl": frozenset("łżźśćńęą"),
    "pt": frozenset("ãõ"),
    "es": frozenset("ñ¿"),
    "vi": frozenset("ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ"),
}
