"""PyFlink's ``pyflink.datastream.connectors``."""

from flinkish.pyflink.datastream.connectors.base import DeliveryGuarantee as DeliveryGuarantee
from flinkish.pyflink.datastream.connectors.base import Sink as Sink
from flinkish.pyflink.datastream.connectors.base import Source as Source
