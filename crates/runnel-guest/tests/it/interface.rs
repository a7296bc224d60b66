//! The interface as core WebAssembly has it: what remains of a WIT function by the rules at the top of `runnel.wit`.

use wit_parser::{Docs, Enum, Function, Record, Resolve, Type, TypeDefKind, TypeId};

/// The interface `host`.
pub struct Interface {
    /// The text at the top of the file.
    pub docs: Vec<String>,
    /// The core module of its imports.
    pub module: String,
    /// Its types, in order.
    pub types: Vec<TypeDef>,
    /// Its functions, in order.
    pub functions: Vec<Import>,
}

pub struct TypeDef {
    /// As in WIT, such as `event-kind`.
    pub name: String,
    pub docs: Vec<String>,
    pub kind: TypeKind,
}

pub enum TypeKind {
    /// Another name of a number.
    Alias(Scalar),
    /// Names of numbers, from 0 or, for errors, from -1 downwards.
    Enum { cases: Vec<Case>, is_error: bool },
    /// Fields in memory, and the size of all with their padding, in bytes.
    Record { fields: Vec<FieldDef>, size: usize },
}

pub struct Case {
    pub name: String,
    pub docs: Vec<String>,
    pub number: i32,
}

pub struct FieldDef {
    pub name: String,
    pub docs: Vec<String>,
    pub of: Scalar,
}

/// A function as it is imported.
pub struct Import {
    pub name: String,
    pub docs: Vec<String>,
    pub parameters: Vec<Parameter>,
    pub result: Option<Scalar>,
}

/// One parameter of WebAssembly, or the two of bytes.
pub struct Parameter {
    pub name: String,
    pub kind: ParameterKind,
}

pub enum ParameterKind {
    Value(Scalar),
    /// A pointer and a length of what the host reads; of text if true.
    Bytes {
        is_text: bool,
    },
    /// A pointer to a record that the host reads.
    Record(String),
    /// A pointer to a value that the host writes.
    Out(Scalar),
    /// A pointer to a record that the host writes.
    OutRecord(String),
    /// A pointer and a capacity of bytes that the host writes.
    OutBytes,
}

/// A value that fits one of WebAssembly's.
#[derive(Clone, PartialEq, Eq)]
pub enum Scalar {
    Bool,
    U32,
    S32,
    U64,
    S64,
    /// A named type: an alias or an enumeration, each of 32 bits.
    Named(String),
}

impl Scalar {
    /// Size and alignment in bytes.
    fn size(&self) -> usize {
        if matches!(self, Self::U64 | Self::S64) { 8 } else { 4 }
    }
}

impl Interface {
    /// Parses the text of the WIT file.
    pub fn parse(text: &str) -> Self {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("runnel.wit", text).expect("valid WIT");
        let package = &resolve.packages[package];
        let interface = &resolve.interfaces[package.interfaces["host"]];
        let name = &package.name;
        let version = name.version.as_ref().expect("the package has a version");
        Self {
            docs: lines(&package.docs),
            module: format!("{}:{}/host@{version}", name.namespace, name.name),
            types: interface.types.values().map(|id| type_def(&resolve, *id)).collect(),
            functions: interface.functions.values().map(|function| import(&resolve, function)).collect(),
        }
    }
}

fn lines(docs: &Docs) -> Vec<String> {
    docs.contents.iter().flat_map(|text| text.lines()).map(|line| line.trim_end().to_owned()).collect()
}

fn type_def(resolve: &Resolve, id: TypeId) -> TypeDef {
    let def = &resolve.types[id];
    let name = def.name.clone().expect("types of an interface have names");
    let kind = match &def.kind {
        TypeDefKind::Type(alias) => TypeKind::Alias(scalar(resolve, alias)),
        TypeDefKind::Enum(cases) => enumeration(cases, name == "error"),
        TypeDefKind::Record(record) => self::record(resolve, record),
        other => panic!("{name}: no rule for {other:?}"),
    };
    TypeDef { name, docs: lines(&def.docs), kind }
}

fn enumeration(Enum { cases }: &Enum, is_error: bool) -> TypeKind {
    let number = |position: i32| if is_error { -1 - position } else { position };
    let cases = cases.iter().zip(0..).map(|(case, position)| Case {
        name: case.name.clone(),
        docs: lines(&case.docs),
        number: number(position),
    });
    TypeKind::Enum { cases: cases.collect(), is_error }
}

fn record(resolve: &Resolve, Record { fields }: &Record) -> TypeKind {
    let fields: Vec<FieldDef> = fields
        .iter()
        .map(|field| FieldDef {
            name: field.name.clone(),
            docs: lines(&field.docs),
            of: scalar(resolve, &field.ty),
        })
        .collect();
    let end = fields.iter().fold(0_usize, |end, field| {
        let size = field.of.size();
        end.next_multiple_of(size) + size
    });
    let alignment = fields.iter().map(|field| field.of.size()).max().unwrap_or(1);
    TypeKind::Record { size: end.next_multiple_of(alignment), fields }
}

fn scalar(resolve: &Resolve, of: &Type) -> Scalar {
    match of {
        Type::Bool => Scalar::Bool,
        Type::U32 => Scalar::U32,
        Type::S32 => Scalar::S32,
        Type::U64 => Scalar::U64,
        Type::S64 => Scalar::S64,
        Type::Id(id) => {
            let def = &resolve.types[*id];
            assert!(matches!(def.kind, TypeDefKind::Type(_) | TypeDefKind::Enum(_)), "{def:?}");
            Scalar::Named(def.name.clone().expect("a named type"))
        }
        other => panic!("no rule for {other:?}"),
    }
}

fn import(resolve: &Resolve, function: &Function) -> Import {
    let mut parameters: Vec<Parameter> = function
        .params
        .iter()
        .map(|parameter| Parameter {
            name: parameter.name.clone(),
            kind: parameter_kind(resolve, &parameter.ty),
        })
        .collect();
    let result = function.result.as_ref().and_then(|of| result(resolve, of, &mut parameters));
    Import { name: function.name.clone(), docs: lines(&function.docs), parameters, result }
}

fn parameter_kind(resolve: &Resolve, of: &Type) -> ParameterKind {
    match (of, kind(resolve, of)) {
        (Type::String, _) => ParameterKind::Bytes { is_text: true },
        (_, Some(TypeDefKind::List(Type::U8))) => ParameterKind::Bytes { is_text: false },
        (Type::Id(id), Some(TypeDefKind::Record(_))) => ParameterKind::Record(name(resolve, *id)),
        _ => ParameterKind::Value(scalar(resolve, of)),
    }
}

/// What a function returns; adds the parameters of what it does not return itself.
fn result(resolve: &Resolve, of: &Type, parameters: &mut Vec<Parameter>) -> Option<Scalar> {
    match kind(resolve, of) {
        Some(TypeDefKind::Result(result)) => {
            if let Some(of) = result.ok.as_ref().filter(|of| !is_u32(resolve, of)) {
                out(resolve, of, parameters);
            }
            Some(Scalar::S32)
        }
        Some(TypeDefKind::List(_)) => {
            out(resolve, of, parameters);
            Some(Scalar::S32)
        }
        _ => Some(scalar(resolve, of)),
    }
}

/// Whether a value is what a successful function itself returns.
fn is_u32(resolve: &Resolve, of: &Type) -> bool {
    match kind(resolve, of) {
        Some(TypeDefKind::Type(alias)) => is_u32(resolve, alias),
        _ => *of == Type::U32,
    }
}

/// Adds the parameters through which the host returns a value.
fn out(resolve: &Resolve, of: &Type, parameters: &mut Vec<Parameter>) {
    match (of, kind(resolve, of)) {
        (_, Some(TypeDefKind::Tuple(tuple))) => {
            tuple.types.iter().for_each(|of| out(resolve, of, parameters));
        }
        (_, Some(TypeDefKind::List(Type::U8))) => {
            parameters.push(Parameter { name: "bytes".to_owned(), kind: ParameterKind::OutBytes });
        }
        (Type::Id(id), Some(TypeDefKind::Record(_))) => {
            let name = name(resolve, *id);
            parameters.push(Parameter { name: name.clone(), kind: ParameterKind::OutRecord(name) });
        }
        _ => {
            let kind = ParameterKind::Out(scalar(resolve, of));
            parameters.push(Parameter { name: "result".to_owned(), kind });
        }
    }
}

fn kind<'a>(resolve: &'a Resolve, of: &Type) -> Option<&'a TypeDefKind> {
    match of {
        Type::Id(id) => Some(&resolve.types[*id].kind),
        _ => None,
    }
}

fn name(resolve: &Resolve, id: TypeId) -> String {
    resolve.types[id].name.clone().expect("a named type")
}
