"""The families of cases, one module each."""

from ..family import Family
from .join import WindowJoinFamily
from .rolling import WindowRollingFamily
from .window import WindowFamily

FAMILIES: dict[str, Family] = {
    family.name: family for family in (WindowFamily(), WindowJoinFamily(), WindowRollingFamily())
}
