//! The raw bindings of the crate.

use std::fmt::Write;

use crate::interface::{Import, Interface, Parameter, ParameterKind, Scalar, TypeDef, TypeKind};

/// Words of Rust that are names in the interface.
const KEYWORDS: [&str; 1] = ["type"];

/// The longest line of code.
const WIDTH: usize = 110;

pub fn text(interface: &Interface) -> String {
    let mut out = String::from(
        "//! Raw imports from the host. Made from `wit/runnel.wit` by a test of this crate: `RUNNEL_UPDATE_ABI=1 cargo test -p \
         runnel-guest`\n//!\n",
    );
    comment(&mut out, "//!", "", &interface.docs);
    out.push('\n');
    interface.types.iter().for_each(|def| type_def(&mut out, def));
    let _ = writeln!(out, "#[link(wasm_import_module = \"{}\")]\nunsafe extern \"C\" {{", interface.module);
    let functions: Vec<String> = interface.functions.iter().map(function).collect();
    out.push_str(&functions.join("\n"));
    out.push_str("}\n");
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
            let _ = writeln!(out, "pub type {of} = {};\n", self::scalar(scalar));
        }
        TypeKind::Enum { cases, is_error } => {
            if docs.is_empty() {
                let _ = writeln!(out, "/// One of its constants.");
            }
            let number = if *is_error { "i32" } else { "u32" };
            let _ = writeln!(
                out,
                "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\n#[repr(transparent)]\npub struct {of}(pub {number});\n\n\
                 impl {of} {{"
            );
            for case in cases {
                let name = case.name.replace('-', "_").to_uppercase();
                match case.docs.is_empty() {
                    true => drop(writeln!(out, "    /// `{}`.", case.name)),
                    false => comment(out, "///", "    ", &case.docs),
                }
                let _ = writeln!(out, "    pub const {name}: Self = Self({});", case.number);
            }
            out.push_str("}\n\n");
        }
        TypeKind::Record { fields, size } => {
            let _ = writeln!(out, "#[derive(Clone, Copy, Debug, Default)]\n#[repr(C)]\npub struct {of} {{");
            for field in fields {
                match field.docs.is_empty() {
                    true => drop(writeln!(out, "    /// `{}`.", field.name)),
                    false => comment(out, "///", "    ", &field.docs),
                }
                let _ = writeln!(out, "    pub {}: {},", identifier(&field.name), scalar(&field.of));
            }
            let _ = writeln!(out, "}}\n\nconst _: () = assert!(size_of::<{of}>() == {size});\n");
        }
    }
}

fn function(Import { name, docs, parameters, result }: &Import) -> String {
    let mut out = String::new();
    match docs.is_empty() {
        true => drop(writeln!(out, "    /// `{name}`.")),
        false => comment(&mut out, "///", "    ", docs),
    }
    let _ = writeln!(out, "    #[link_name = \"{name}\"]");
    let parameters: Vec<String> = parameters.iter().map(parameter).collect();
    let result = result.as_ref().map_or_else(String::new, |of| format!(" -> {}", scalar(of)));
    let head = format!("    pub fn {}(", name.replace('-', "_"));
    let line = format!("{head}{}){result};", parameters.join(", "));
    if line.len() <= WIDTH {
        let _ = writeln!(out, "{line}");
    } else {
        let _ = writeln!(out, "{head}");
        parameters.iter().flat_map(|both| both.split(", ")).for_each(|parameter| {
            let _ = writeln!(out, "        {parameter},");
        });
        let _ = writeln!(out, "    ){result};");
    }
    out
}

fn parameter(Parameter { name, kind }: &Parameter) -> String {
    let length = format!("{}_length", name.replace('-', "_"));
    let name = identifier(name);
    match kind {
        ParameterKind::Value(of) => format!("{name}: {}", scalar(of)),
        ParameterKind::Bytes { .. } => format!("{name}: *const u8, {length}: usize"),
        ParameterKind::Record(of) => format!("{name}: *const {}", type_name(of)),
        ParameterKind::Out(of) => format!("{name}: *mut {}", scalar(of)),
        ParameterKind::OutRecord(of) => format!("{name}: *mut {}", type_name(of)),
        ParameterKind::OutBytes => format!("{name}: *mut u8, capacity: usize"),
    }
}

fn scalar(of: &Scalar) -> String {
    match of {
        Scalar::Bool => "bool".to_owned(),
        Scalar::U32 => "u32".to_owned(),
        Scalar::S32 => "i32".to_owned(),
        Scalar::U64 => "u64".to_owned(),
        Scalar::S64 => "i64".to_owned(),
        Scalar::Named(name) => type_name(name),
    }
}

/// In camel case.
fn type_name(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('-').map(capital).collect()
}

fn identifier(name: &str) -> String {
    let name = name.replace('-', "_");
    if KEYWORDS.contains(&&*name) { name + "_" } else { name }
}
