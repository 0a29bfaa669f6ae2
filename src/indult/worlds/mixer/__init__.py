"""The mixer: five personas in a park who act on their own, the worked example of the loop."""

from __future__ import annotations

from indult.worlds.mixer.world import Mixer, MixerOptions, mixer_policy

__all__ = ["Mixer", "MixerOptions", "mixer_policy"]
