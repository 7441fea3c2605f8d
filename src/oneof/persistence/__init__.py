"""Model files and checkpoints: written whole or not at all, read with every field checked."""

from oneof.persistence.atomic import rehearse, replacing
from oneof.persistence.models import load, save

__all__ = ["load", "rehearse", "replacing", "save"]
