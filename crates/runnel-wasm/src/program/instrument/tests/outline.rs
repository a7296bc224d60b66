//! What a module has, for comparison.

use wasmparser::{ElementItems, KnownCustom, Name, Operator, Parser, Payload, TypeRef};

/// The parts of a module that the pass changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub imports: Vec<String>,
    /// Least and most pages of the memory.
    pub memory: Option<(u64, Option<u64>)>,
    /// Name, kind and index.
    pub exports: Vec<(String, String, u32)>,
    /// Functions of the tables.
    pub elements: Vec<u32>,
    /// The instructions of each function that matter here.
    pub bodies: Vec<String>,
    /// Index and name of functions.
    pub names: Vec<(u32, String)>,
    /// Names of the custom sections.
    pub custom: Vec<String>,
}

impl Outline {
    pub fn of(module: &[u8]) -> Self {
        let mut outline = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            outline.add(payload.expect("it is a module"));
        }
        outline
    }

    fn add(&mut self, payload: Payload<'_>) {
        match payload {
            Payload::ImportSection(section) => {
                for import in section.into_imports().map(Result::unwrap) {
                    let kind = if matches!(import.ty, TypeRef::Func(_)) { "function" } else { "other" };
                    self.imports.push(format!("{kind} {} {}", import.module, import.name));
                }
            }
            Payload::MemorySection(section) => {
                self.memory =
                    section.into_iter().map(Result::unwrap).map(|one| (one.initial, one.maximum)).next();
            }
            Payload::ExportSection(section) => {
                for export in section.into_iter().map(Result::unwrap) {
                    self.exports.push((export.name.to_owned(), format!("{:?}", export.kind), export.index));
                }
            }
            Payload::ElementSection(section) => {
                for element in section.into_iter().map(Result::unwrap) {
                    if let ElementItems::Functions(functions) = element.items {
                        self.elements.extend(functions.into_iter().map(Result::unwrap));
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                let operators = body.get_operators_reader().unwrap().into_iter().map(Result::unwrap);
                let words: Vec<String> = operators.filter_map(|operator| word(&operator)).collect();
                self.bodies.push(words.join(" "));
            }
            Payload::CustomSection(section) => {
                self.custom.push(section.name().to_owned());
                if let KnownCustom::Name(names) = section.as_known() {
                    names.into_iter().map(Result::unwrap).for_each(|names| self.add_names(names));
                }
            }
            _ => {}
        }
    }

    fn add_names(&mut self, names: Name<'_>) {
        if let Name::Function(functions) = names {
            let functions = functions.into_iter().map(Result::unwrap);
            self.names.extend(functions.map(|function| (function.index, function.name.to_owned())));
        }
    }
}

fn word(operator: &Operator<'_>) -> Option<String> {
    Some(match operator {
        Operator::Loop { .. } => "loop".to_owned(),
        Operator::Block { .. } => "block".to_owned(),
        Operator::If { .. } => "if".to_owned(),
        Operator::Else => "else".to_owned(),
        Operator::End => "end".to_owned(),
        Operator::Call { function_index } => format!("call:{function_index}"),
        Operator::GlobalGet { global_index } => format!("get:{global_index}"),
        _ => return None,
    })
}
