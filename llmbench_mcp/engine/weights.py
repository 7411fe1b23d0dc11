"""Whether the weights under a model's name are still the ones that a job began with."""

from __future__ import annotations

import logging

import anyio

from llmbench_mcp.domain.errors import EndpointError, WeightsChanged
from llmbench_mcp.engine.residency import Place

log = logging.getLogger(__name__)

_LOOK_S = 5.0


async def changed_weights(place: Place, look_s: float = _LOOK_S) -> WeightsChanged | None:
    """What is to be said where the server tells another digest by now; a server that tells none is believed."""
    if place.digest is None:
        return None
    try:
        with anyio.move_on_after(look_s):
            told = await _digests(place)
            other = next((digest for digest in told if digest != place.digest), None)
            return _changed(place, place.digest, other) if other else None
    except EndpointError as error:
        log.warning("whether %s is unchanged on %s is unknown: %s", place.served_name, place.endpoint.name, error)
        return None
    log.warning("%s did not say whether %s is unchanged", place.endpoint.name, place.served_name)
    return None


async def _digests(place: Place) -> list[str]:
    """Of what is loaded under the name; where that left meanwhile, of what the server would load."""
    loaded = await place.backend.residents() or ()
    found = [one.digest for one in loaded if one.served_name == place.served_name]
    if not found:
        found = [one.digest for one in await place.backend.list_models() if one.served_name == place.served_name]
    return [digest for digest in found if digest]


def _changed(place: Place, began: str, now: str) -> WeightsChanged:
    return WeightsChanged(
        f"{place.endpoint.name} has {place.served_name!r} with digest {now[:16]} by now, not {began[:16]}: "
        "nobody knows which answers came from which weights, so none of them counts.",
        "The model was replaced: call models_discover (discover), then start the run again.",
    )
