//! The elements of XML-RPC.

/// An element of XML-RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    MethodCall,
    MethodName,
    MethodResponse,
    Fault,
    Params,
    Param,
    Value,
    Int,
    Boolean,
    String,
    Double,
    DateTime,
    Base64,
    Array,
    Data,
    Struct,
    Member,
    Name,
}

impl Tag {
    /// The element with this name. `i4`, `int` and `i8` are one element: the text decides whether it fits 32 bits.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "methodCall" => Tag::MethodCall,
            "methodName" => Tag::MethodName,
            "methodResponse" => Tag::MethodResponse,
            "fault" => Tag::Fault,
            "params" => Tag::Params,
            "param" => Tag::Param,
            "value" => Tag::Value,
            "i4" | "int" | "i8" => Tag::Int,
            "boolean" => Tag::Boolean,
            "string" => Tag::String,
            "double" => Tag::Double,
            "dateTime.iso8601" => Tag::DateTime,
            "base64" => Tag::Base64,
            "array" => Tag::Array,
            "data" => Tag::Data,
            "struct" => Tag::Struct,
            "member" => Tag::Member,
            "name" => Tag::Name,
            _ => return None,
        })
    }

    /// The name under which the element is written.
    pub(super) fn name(self) -> &'static str {
        match self {
            Tag::MethodCall => "methodCall",
            Tag::MethodName => "methodName",
            Tag::MethodResponse => "methodResponse",
            Tag::Fault => "fault",
            Tag::Params => "params",
            Tag::Param => "param",
            Tag::Value => "value",
            Tag::Int => "i4",
            Tag::Boolean => "boolean",
            Tag::String => "string",
            Tag::Double => "double",
            Tag::DateTime => "dateTime.iso8601",
            Tag::Base64 => "base64",
            Tag::Array => "array",
            Tag::Data => "data",
            Tag::Struct => "struct",
            Tag::Member => "member",
            Tag::Name => "name",
        }
    }
}
