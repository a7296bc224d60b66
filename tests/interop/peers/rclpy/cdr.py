"""Serializer to plain little-endian CDR with zeros as padding. Fast DDS leaves padding uninitialized."""
import array
import struct

from rosidl_parser.definition import AbstractNestedType, AbstractString, AbstractWString, Array, NamespacedType

FORMATS = {
    "boolean": "?", "octet": "c", "char": "B", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I",
    "int32": "i", "uint64": "Q", "int64": "q", "float": "f", "double": "d",
}  # fmt: skip


def serialized(message):
    """The bytes of a message, without the encapsulation header."""
    writer = Writer()
    writer.message(message)
    return bytes(writer.bytes)


class Writer:
    def __init__(self):
        self.bytes = bytearray()

    def message(self, message):
        if not message.SLOT_TYPES:
            self.bytes.append(0)
        for name, kind in zip(message.get_fields_and_field_types(), message.SLOT_TYPES):
            self.value(kind, getattr(message, name))

    def value(self, kind, value):
        if isinstance(kind, AbstractNestedType):
            self.elements(kind, value)
        elif isinstance(kind, NamespacedType):
            self.message(value)
        elif isinstance(kind, AbstractString):
            text = value.encode() + b"\0"
            self.number("I", len(text))
            self.bytes += text
        elif isinstance(kind, AbstractWString):
            self.number("I", len(value))
            self.bytes += value.encode("utf-32-le")
        else:
            self.number(FORMATS[kind.typename], value)

    def elements(self, kind, values):
        if not isinstance(kind, Array):
            self.number("I", len(values))
        if isinstance(values, array.array) and values.itemsize == 1:
            self.bytes += values.tobytes()
            return
        for value in values:
            self.value(kind.value_type, value)

    def number(self, form, value):
        self.bytes += bytes(-len(self.bytes) % struct.calcsize(form))
        self.bytes += struct.pack("<" + form, value)
