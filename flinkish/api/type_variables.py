"""The type variables of generic classes and functions, for type checkers.

One that ends in ``_co`` is covariant, one that ends in ``_contra`` contravariant.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
K = TypeVar("K")
K_contra = TypeVar("K_contra", contravariant=True)
V = TypeVar("V")
X = TypeVar("X")
IN = TypeVar("IN")
IN_contra = TypeVar("IN_contra", contravariant=True)
IN1_contra = TypeVar("IN1_contra", contravariant=True)
IN2_contra = TypeVar("IN2_contra", contravariant=True)
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")
OUT_co = TypeVar("OUT_co", covariant=True)
UK = TypeVar("UK")
UV = TypeVar("UV")
