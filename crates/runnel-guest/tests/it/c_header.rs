//! The C header, which is also valid C++.

use std::fmt::Write;

use crate::interface::{Case, Import, Interface, Parameter, ParameterKind, Scalar, TypeDef, TypeKind};

/// Words of C and C++ that are names in the interface.
const KEYWORDS: [&str; 2] = ["default", "operator"];

/// The longest line of code.
const WIDTH: usize = 110;

pub fn text(interface: &Interface) -> String {
    let mut out = String::from(
        "// Made from wit/runnel.wit by a test of this crate: RUNNEL_UPDATE_ABI=1 cargo test -p runnel-guest\n//\n",
    );
    comment(&mut out, "//", "", &interface.docs);
    out.push_str(
        "#ifndef RUNNEL_H\n#define RUNNEL_H\n\n#include <assert.h>\n#include <stdbool.h>\n#include <stddef.h>\n\
         #include <stdint.h>\n\n",
    );
    let _ = writeln!(
        out,
        "#define RUNNEL_IMPORT(name) \\\n  __attribute__((import_module(\"{}\"), import_name(name)))\n",
        interface.module
    );
    out.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    interface.types.iter().for_each(|def| type_def(&mut out, def));
    interface.functions.iter().for_each(|import| function(&mut out, import));
    out.push_str("#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}

fn comment(out: &mut String, mark: &str, indent: &str, docs: &[String]) {
    for line in docs {
        let _ = writeln!(out, "{}", format!("{indent}{mark} {line}").trim_end());
    }
}

fn type_def(out: &mut String, TypeDef { name, docs, kind }: &TypeDef) {
    comment(out, "///", "", docs);
    let of = type_name(name);
    match kind {
        TypeKind::Alias(scalar) => {
            let _ = writeln!(out, "typedef {} {of};\n", self::scalar(scalar));
        }
        TypeKind::Enum { cases, .. } => {
            let _ = writeln!(out, "typedef enum {of} {{");
            cases.iter().for_each(|case| enumerator(out, name, case));
            let _ = writeln!(out, "}} {of};\n");
        }
        TypeKind::Record { fields, size } => {
            let _ = writeln!(out, "typedef struct {of} {{");
            for field in fields {
                comment(out, "///", "  ", &field.docs);
                let _ = writeln!(out, "  {} {};", scalar(&field.of), identifier(&field.name));
            }
            let _ =
                writeln!(out, "}} {of};\n\nstatic_assert(sizeof({of}) == {size}, \"as the host has it\");\n");
        }
    }
}

fn enumerator(out: &mut String, of: &str, Case { name, docs, number }: &Case) {
    comment(out, "///", "  ", docs);
    let name = format!("{of}-{name}").replace('-', "_").to_uppercase();
    let _ = writeln!(out, "  RUNNEL_{name} = {number},");
}

fn function(out: &mut String, Import { name, docs, parameters, result }: &Import) {
    comment(out, "///", "", docs);
    let parameters: Vec<String> = parameters.iter().map(parameter).collect();
    let result = result.as_ref().map_or_else(|| "void".to_owned(), scalar);
    let head = format!("{result} {}(", type_name(name));
    let one_line = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let is_long = head.len() + one_line.len() + 2 > WIDTH;
    let list = if is_long { format!("\n    {}", parameters.join(",\n    ")) } else { one_line };
    let _ = writeln!(out, "RUNNEL_IMPORT(\"{name}\")\n{head}{list});\n");
}

fn parameter(Parameter { name, kind }: &Parameter) -> String {
    let length = format!("{}_length", name.replace('-', "_"));
    let name = identifier(name);
    match kind {
        ParameterKind::Value(of) => format!("{} {name}", scalar(of)),
        ParameterKind::Bytes { is_text: true } => format!("const char *{name}, size_t {length}"),
        ParameterKind::Bytes { is_text: false } => format!("const void *{name}, size_t {length}"),
        ParameterKind::Record(of) => format!("const {} *{name}", type_name(of)),
        ParameterKind::Out(of) => format!("{} *{name}", scalar(of)),
        ParameterKind::OutRecord(of) => format!("{} *{name}", type_name(of)),
        ParameterKind::OutBytes => format!("void *{name}, size_t capacity"),
    }
}

fn scalar(of: &Scalar) -> String {
    match of {
        Scalar::Bool => "bool".to_owned(),
        Scalar::U32 => "uint32_t".to_owned(),
        Scalar::S32 => "int32_t".to_owned(),
        Scalar::U64 => "uint64_t".to_owned(),
        Scalar::S64 => "int64_t".to_owned(),
        Scalar::Named(name) => type_name(name),
    }
}

fn type_name(name: &str) -> String {
    format!("runnel_{}", name.replace('-', "_"))
}

fn identifier(name: &str) -> String {
    let name = name.replace('-', "_");
    if KEYWORDS.contains(&&*name) { name + "_" } else { name }
}
