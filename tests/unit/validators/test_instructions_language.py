# ruff: noqa: RUF001  # letters of other scripts that look like Latin ones are meant

from __future__ import annotations

import pytest
from llmbench_validators import instructions_language as language

SENTENCES = {
    "en": "We moved the old table into the garden because it was too big for the room.",
    "de": "Wir haben den alten Tisch in den Garten gestellt, weil er für das Zimmer zu groß war.",
    "fr": "Nous avons mis la vieille table dans le jardin parce qu'elle était trop grande pour la pièce.",
    "es": "Pusimos la mesa vieja en el jardín porque era demasiado grande para la habitación.",
    "it": "Abbiamo messo il vecchio tavolo nel giardino perché era troppo grande per la stanza.",
    "pt": "Colocamos a mesa velha no jardim porque ela não cabia na sala e era muito grande.",
    "nl": "We hebben de oude tafel in de tuin gezet omdat hij te groot was voor de kamer.",
    "pl": "Stary stół stoi w ogrodzie, bo nie zmieścił się w pokoju i był za duży.",
    "fi": "Vanha pöytä on nyt puutarhassa, koska se oli liian suuri huoneeseen.",
    "sw": "Meza ya zamani iko kwenye bustani kwa sababu ilikuwa kubwa sana kwa chumba.",
    "vi": "Cái bàn cũ đã được chuyển ra vườn vì nó quá lớn so với căn phòng.",
    "ru": "Мы вынесли старый стол в сад, потому что он был слишком большой для комнаты.",
    "bg": "Изнесохме старата маса в градината, защото тя е твърде голяма за стаята.",
    "uk": "Ми винесли старий стіл у сад, бо він був завеликий для кімнати.",
    "ar": "نقلنا الطاولة القديمة إلى الحديقة لأنها كانت كبيرة جدا على الغرفة.",
    "fa": "میز قدیمی را به باغ بردیم زیرا برای اتاق خیلی بزرگ بود.",
    "ur": "ہم نے پرانی میز کو باغ میں رکھا کیونکہ وہ کمرے کے لیے بہت بڑی تھی۔",
    "hi": "हमने पुरानी मेज को बगीचे में रखा क्योंकि वह कमरे के लिए बहुत बड़ी थी।",
    "mr": "आम्ही जुने टेबल बागेत ठेवले कारण ते खोलीसाठी खूप मोठे होते.",
    "ne": "हामीले पुरानो टेबल बगैंचामा राख्यौं किनभने त्यो कोठाको लागि धेरै ठूलो थियो।",
    "bn": "আমরা পুরানো টেবিলটি বাগানে রেখেছি।",
    "pa": "ਅਸੀਂ ਪੁਰਾਣੀ ਮੇਜ਼ ਬਾਗ ਵਿੱਚ ਰੱਖੀ।",
    "gu": "અમે જૂનું ટેબલ બગીચામાં મૂક્યું.",
    "ta": "பழைய மேசையை தோட்டத்தில் வைத்தோம்.",
    "te": "మేము పాత బల్లను తోటలో ఉంచాము.",
    "kn": "ನಾವು ಹಳೆಯ ಮೇಜನ್ನು ತೋಟದಲ್ಲಿ ಇಟ್ಟೆವು.",
    "ml": "ഞങ്ങൾ പഴയ മേശ തോട്ടത്തിൽ വെച്ചു.",
    "th": "เราย้ายโต๊ะเก่าไปไว้ในสวน",
    "he": "העברנו את השולחן הישן לגינה.",
    "el": "Βάλαμε το παλιό τραπέζι στον κήπο.",
    "ko": "우리는 낡은 탁자를 정원에 두었습니다.",
    "ja": "古いテーブルを庭に置きました。",
    "zh": "我们把旧桌子放在花园里。",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_is_taken_for_its_own_language_and_no_other(code: str) -> None:
    assert [other for other in language.LANGUAGES if language.why_not(SENTENCES[code], other) is None] == [code]


def test_every_language_that_can_be_asked_for_has_a_sentence_here() -> None:
    assert set(SENTENCES) == set(language.LANGUAGES)


def test_a_few_foreign_names_do_not_matter_but_a_translation_beside_the_text_does() -> None:
    assert language.why_not(SENTENCES["ko"] + " Wi-Fi", "ko") is None
    assert language.why_not(f"{SENTENCES['ko']} {SENTENCES['en']}", "ko") is not None
    assert language.why_not(f"{SENTENCES['de']} {SENTENCES['en']} {SENTENCES['en']}", "de") is not None


def test_a_text_without_letters_is_in_no_language() -> None:
    assert all(language.why_not("12 + 30 = 42", code) for code in language.LANGUAGES)
