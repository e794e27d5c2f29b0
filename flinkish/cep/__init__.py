"""Flink's CEP: finds patterns in streams.

>>> from flinkish.cep import CEP, Pattern

docs/cep.md is the guide.
"""

import flinkish.cep.operator  # noqa: F401  # registers the operator
from flinkish.api.absent import unknown_names as _unknown_names
from flinkish.api.errors import MalformedPatternError as MalformedPatternError
from flinkish.api.errors import UnboundedPatternWarning as UnboundedPatternWarning
from flinkish.cep.after_match import AfterMatchSkipStrategy as AfterMatchSkipStrategy
from flinkish.cep.conditions import ConditionContext as ConditionContext
from flinkish.cep.conditions import IterativeCondition as IterativeCondition
from flinkish.cep.conditions import RichIterativeCondition as RichIterativeCondition
from flinkish.cep.conditions import SimpleCondition as SimpleCondition
from flinkish.cep.functions import EventComparator as EventComparator
from flinkish.cep.functions import PatternContext as PatternContext
from flinkish.cep.functions import PatternFlatSelectFunction as PatternFlatSelectFunction
from flinkish.cep.functions import PatternFlatTimeoutFunction as PatternFlatTimeoutFunction
from flinkish.cep.functions import PatternProcessFunction as PatternProcessFunction
from flinkish.cep.functions import PatternSelectFunction as PatternSelectFunction
from flinkish.cep.functions import PatternTimeoutFunction as PatternTimeoutFunction
from flinkish.cep.functions import RichPatternFlatSelectFunction as RichPatternFlatSelectFunction
from flinkish.cep.functions import RichPatternSelectFunction as RichPatternSelectFunction
from flinkish.cep.functions import TimedOutPartialMatchHandler as TimedOutPartialMatchHandler
from flinkish.cep.pattern import GroupPattern as GroupPattern
from flinkish.cep.pattern import Pattern as Pattern
from flinkish.cep.pattern import WithinType as WithinType
from flinkish.cep.pattern_stream import CEP as CEP
from flinkish.cep.pattern_stream import PatternStream as PatternStream
from flinkish.cep.quantifier import Quantifier as Quantifier

__getattr__ = _unknown_names(__name__)
