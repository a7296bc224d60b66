//! Parts of a definition: fields, constants, types.

use super::generation::Generation;
use std::fmt;
use std::sync::Arc;

/// The name of a message, service or action type: a package and a name within it.
///
/// `std_msgs/String` (ROS 1) and `std_msgs/msg/String` (ROS 2) name the same type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeName {
    /// The package, such as `std_msgs`.
    pub package: String,
    /// The name within the package, such as `String`.
    pub name: String,
}

impl TypeName {
    /// Reads `package/Name`, `package/msg/Name`, `package/srv/Name` or `package/action/Name`.
    /// `None` if the text is none of these or a part is not an identifier.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let package = parts.next()?;
        let mut name = parts.next()?;
        if let Some(last) = parts.next() {
            if !matches!(name, "msg" | "srv" | "action") || parts.next().is_some() {
                return None;
            }
            name = last;
        }
        let valid = is_identifier(package) && is_identifier(name);
        valid.then(|| Self { package: package.to_owned(), name: name.to_owned() })
    }

    /// The type `name` of `package`, unchecked.
    pub fn new(package: impl Into<String>, name: impl Into<String>) -> Self {
        Self { package: package.into(), name: name.into() }
    }

    /// The type of the same package whose name is this one's with `suffix` after it.
    #[must_use]
    pub fn with_suffix(&self, suffix: &str) -> Self {
        Self { package: self.package.clone(), name: format!("{}{suffix}", self.name) }
    }
}

/// True of a letter followed by letters, digits and underscores, as packages, types and fields are named.
pub(super) fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 255
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.package, self.name)
    }
}

/// The types that are not made of others. `byte` is [`Primitive::I8`] in ROS 1 and `char` is [`Primitive::U8`];
/// how a file spells them is kept in [`Field::spelling`], since it counts for the MD5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// One byte, 0 or 1.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE 754, 32 bits.
    F32,
    /// IEEE 754, 64 bits.
    F64,
    /// ROS 1 `time`.
    Time,
    /// ROS 1 `duration`.
    Duration,
    /// UTF-8 text, with an optional bound in bytes.
    String(Option<usize>),
    /// UTF-16 text (ROS 2 only), with an optional bound in code units.
    WString(Option<usize>),
}

impl Primitive {
    /// True of both kinds of text.
    pub fn is_text(self) -> bool {
        matches!(self, Self::String(_) | Self::WString(_))
    }
}

/// Type of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// A type of the language itself.
    Primitive(Primitive),
    /// Another message.
    Message(TypeName),
}

impl Element {
    /// True of both kinds of text.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Primitive(primitive) if primitive.is_text())
    }
}

/// Number of elements of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// One: not an array.
    One,
    /// `[n]`: exactly `n`.
    Fixed(usize),
    /// `[<=n]`: at most `n`.
    Bounded(usize),
    /// `[]`: any number.
    Unbounded,
}

impl Arity {
    /// Whether an array may have this length; always true for other fields.
    pub fn allows(self, len: usize) -> bool {
        match self {
            Self::Fixed(count) => len == count,
            Self::Bounded(most) => len <= most,
            Self::One | Self::Unbounded => true,
        }
    }
}

/// A value written in a file: a constant's, or a field's default.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// An integer within the range of its type.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// Text, without the quotes.
    Text(String),
    /// `[a, b, c]`, as a default of an array.
    List(Vec<Literal>),
}

/// As files spell it, with text in quotes.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::List(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", values.join(", "))
            }
        }
    }
}

/// One field of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Type of one element. A name without package in the file (its own package; `Header` is `std_msgs/Header`) is resolved
    /// here.
    pub element: Element,
    /// Number of elements.
    pub arity: Arity,
    /// The optional default of a ROS 2 file.
    pub default: Option<Literal>,
    /// The type as spelled in the file, with its array suffix, such as `byte[3]` or `Header`.
    pub spelling: String,
}

/// One constant of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Its type.
    pub primitive: Primitive,
    /// Its value.
    pub value: Literal,
    /// The type as the file spells it.
    pub spelling: String,
    /// The value as the file spells it, which counts for the MD5.
    pub text: String,
}

/// One message as its file defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageDef {
    /// Its name.
    pub name: TypeName,
    /// Its name in ROS 2, such as `std_msgs/msg/String` or `std_srvs/srv/SetBool_Request`.
    pub ros2_name: String,
    /// Its constants, in the file's order.
    pub constants: Vec<Constant>,
    /// Its fields, in the file's order, which is that of the wire.
    pub fields: Vec<Field>,
    /// The file's text, which travels in connection headers.
    pub text: String,
}

impl MessageDef {
    /// The type's DDS name in ROS 2, such as `std_msgs::msg::dds_::String_`.
    pub fn dds_name(&self) -> String {
        match self.ros2_name.rsplit_once('/') {
            Some((folder, name)) => format!("{}::dds_::{name}_", folder.replace('/', "::")),
            None => format!("{}_", self.ros2_name),
        }
    }

    /// Whether the first field is `std_msgs/Header header`, whose `seq` a ROS 1 publisher counts up.
    pub fn has_header(&self) -> bool {
        let is_header = |field: &Field| match &field.element {
            Element::Message(name) => {
                name.package == "std_msgs" && name.name == "Header" && field.arity == Arity::One
            }
            Element::Primitive(_) => false,
        };
        self.fields.first().is_some_and(|field| field.name == "header" && is_header(field))
    }
}

/// One service as its file defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceDef {
    /// Its name.
    pub name: TypeName,
    /// The request, named `NameRequest`.
    pub request: MessageDef,
    /// The response, named `NameResponse`.
    pub response: MessageDef,
}

/// One action as its file defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionDef {
    /// Its name.
    pub name: TypeName,
    /// The goal, named `NameGoal`.
    pub goal: MessageDef,
    /// The result, named `NameResult`.
    pub result: MessageDef,
    /// The feedback; named `NameFeedback`.
    pub feedback: MessageDef,
}

/// A message with everything it is made of: enough to encode, decode, print and announce it.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The generation whose form this is. What the form of another has more or less is not known here.
    pub generation: Generation,
    /// The message itself.
    pub def: MessageDef,
    /// The schema of each field that is a message, at the index of the field; `None` for a primitive.
    pub parts: Vec<Option<Arc<Schema>>>,
    /// ROS 1 MD5 sum of this form, 32 lower-case hex digits. In ROS 2 it only distinguishes types within Runnel.
    pub md5: String,
    /// The definition with all it depends on, as ROS 1 connection headers carry it, or as ROS 2 bags do.
    pub full_text: String,
}

/// A service with everything it is made of.
#[derive(Debug, PartialEq)]
pub struct ServiceSchema {
    /// The generation whose form this is.
    pub generation: Generation,
    /// Its name.
    pub name: TypeName,
    /// Its name in ROS 2, such as `std_srvs/srv/SetBool`.
    pub ros2_name: String,
    /// The request.
    pub request: Arc<Schema>,
    /// The response.
    pub response: Arc<Schema>,
    /// ROS 1 MD5 sum, 32 lower-case hex digits.
    pub md5: String,
}

/// An action with the messages that ROS 1 makes of it, each with everything it is made of.
#[derive(Debug, PartialEq)]
pub struct ActionSchema {
    /// Its name.
    pub name: TypeName,
    /// The goal.
    pub goal: Arc<Schema>,
    /// The result.
    pub result: Arc<Schema>,
    /// The feedback.
    pub feedback: Arc<Schema>,
    /// The goal as it travels, with header and goal id: `NameActionGoal`.
    pub action_goal: Arc<Schema>,
    /// The result as it travels, with header and goal status: `NameActionResult`.
    pub action_result: Arc<Schema>,
    /// The feedback as it travels, with header and goal status: `NameActionFeedback`.
    pub action_feedback: Arc<Schema>,
    /// The three that travel as one, which never travels but names the action: `NameAction`.
    pub action: Arc<Schema>,
}
