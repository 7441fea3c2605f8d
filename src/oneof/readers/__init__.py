"""Files of any size as streams of bounded batches. Public names, nothing else."""

from oneof.readers.batch import Batch
from oneof.readers.errors import BadRow, InputError
from oneof.readers.opening import FORMATS, open_source
from oneof.readers.reader import text_classes
from oneof.readers.source import Source

__all__ = ["FORMATS", "BadRow", "Batch", "InputError", "Source", "open_source", "text_classes"]
