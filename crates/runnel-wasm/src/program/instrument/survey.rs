//! What a module consists of, and what of it a checkpoint does not hold.

use wasmparser::{
    CompositeInnerType, CustomSectionReader, Export, ExternalKind, FunctionBody, GlobalType, KnownCustom,
    MemoryType, Name, Operator, Parser, Payload, TypeRef,
};

use super::{MARKER, PAUSE_FLAG, VERSION};

/// What the rewriter has to know about a module.
#[derive(Debug, Default)]
pub struct Survey {
    /// A type without parameters and results.
    pub pause_type: Option<u32>,
    /// Number of functions that are imported.
    pub imported_functions: u32,
    /// Number of globals.
    pub globals: u32,
    /// Indices of the globals that are mutable.
    pub mutable_globals: Vec<u32>,
    /// Whether the memory is exported under the name that the host uses.
    pub exports_memory: bool,
    /// Whether the module is instrumented already.
    pub is_instrumented: bool,
    /// For each type, whether it is that of a function with a parameter or a result that is a reference.
    has_references: Vec<bool>,
    memories: u32,
    bodies: u32,
    /// Exports that only an instrumented module has.
    reserved: Vec<String>,
}

/// Beginnings of the names that the host uses.
const RESERVED: [&str; 2] = ["runnel:", "asyncify_"];
/// The exports of each instrumented module.
const INSTRUMENTED: [&str; 6] = [
    PAUSE_FLAG,
    "asyncify_get_state",
    "asyncify_start_rewind",
    "asyncify_start_unwind",
    "asyncify_stop_rewind",
    "asyncify_stop_unwind",
];

impl Survey {
    /// Reads a module, which need not be valid.
    ///
    /// # Errors
    /// If it is no module, or has something that a checkpoint does not hold.
    pub fn of(module: &[u8]) -> Result<Self, String> {
        let mut survey = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            survey.add(payload.map_err(|error| error.to_string())?, module)?;
        }
        survey.finish()
    }

    /// Number of types.
    pub fn types(&self) -> u32 {
        self.has_references.len() as u32
    }

    fn add(&mut self, payload: Payload<'_>, module: &[u8]) -> Result<(), String> {
        let read = |error: wasmparser::Error| error.to_string();
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    group
                        .map_err(read)?
                        .into_types()
                        .for_each(|one| self.add_type(&one.composite_type.inner));
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.map_err(read)?;
                    self.add_import(import.ty)
                        .map_err(|why| format!("it imports {why} ({} {})", import.module, import.name))?;
                }
            }
            Payload::FunctionSection(section) => {
                for (index, function_type) in (self.imported_functions..).zip(section) {
                    self.add_function(index, function_type.map_err(read)?, module)?;
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.add_memory(memory.map_err(read)?)?;
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    self.add_global(global.map_err(read)?.ty)?;
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    self.add_export(&export.map_err(read)?)?;
                }
            }
            Payload::CodeSectionEntry(body) => self.add_body(&body, module)?,
            Payload::CustomSection(section) => self.add_custom_section(&section)?,
            Payload::TagSection(_) => return Err(refused("it uses exceptions")),
            Payload::StartSection { .. } => {
                return Err(refused("it has a start function, which would run again in a restored node,"));
            }
            _ => {}
        }
        Ok(())
    }

    fn add_type(&mut self, one: &CompositeInnerType) {
        let CompositeInnerType::Func(function) = one else { return self.has_references.push(true) };
        let mut values = function.params().iter().chain(function.results());
        if values.clone().next().is_none() {
            self.pause_type.get_or_insert(self.types());
        }
        self.has_references.push(values.any(|value| value.is_reference_type()));
    }

    fn add_function(&mut self, index: u32, function_type: u32, module: &[u8]) -> Result<(), String> {
        match self.has_references.get(function_type as usize) {
            Some(true) => {
                let name = name_of(index, module);
                Err(refused(&format!("function {name} has a parameter or a result that is a reference")))
            }
            _ => Ok(()),
        }
    }

    fn add_import(&mut self, import: TypeRef) -> Result<(), &'static str> {
        match import {
            TypeRef::Func(one) if self.has_references.get(one as usize) == Some(&true) => {
                return Err("a function with references");
            }
            TypeRef::Func(_) | TypeRef::FuncExact(_) => self.imported_functions += 1,
            TypeRef::Global(global) if !global.mutable => self.globals += 1,
            TypeRef::Global(_) => return Err("a mutable global"),
            TypeRef::Memory(_) => return Err("a memory"),
            TypeRef::Table(_) => return Err("a table"),
            TypeRef::Tag(_) => return Err("an exception"),
        }
        Ok(())
    }

    fn add_memory(&mut self, memory: MemoryType) -> Result<(), String> {
        self.memories += 1;
        match memory {
            _ if self.memories > 1 => Err(refused("it has more than one memory")),
            MemoryType { shared: true, .. } => Err(refused("its memory is shared")),
            MemoryType { memory64: true, .. } => Err(refused("its memory has 64-bit addresses")),
            _ => Ok(()),
        }
    }

    fn add_global(&mut self, global: GlobalType) -> Result<(), String> {
        let index = self.globals;
        self.globals += 1;
        if !global.mutable {
            return Ok(());
        }
        if global.content_type.is_reference_type() {
            return Err(refused(&format!("its mutable global {index} is a reference")));
        }
        self.mutable_globals.push(index);
        Ok(())
    }

    fn add_export(&mut self, export: &Export<'_>) -> Result<(), String> {
        if RESERVED.iter().any(|prefix| export.name.starts_with(prefix)) {
            self.reserved.push(export.name.to_owned());
        }
        if export.name == "memory" {
            if export.kind != ExternalKind::Memory {
                return Err("it exports something else than its memory as \"memory\"".to_owned());
            }
            self.exports_memory = true;
        }
        Ok(())
    }

    fn add_body(&mut self, body: &FunctionBody<'_>, module: &[u8]) -> Result<(), String> {
        let index = self.imported_functions + self.bodies;
        self.bodies += 1;
        let named = |what: &str| refused(&format!("function {} {what}", name_of(index, module)));
        let read = |error: wasmparser::Error| error.to_string();
        for local in body.get_locals_reader().map_err(read)? {
            if local.map_err(read)?.1.is_reference_type() {
                return Err(named("has a local variable that is a reference"));
            }
        }
        for operator in body.get_operators_reader().map_err(read)? {
            if let Some(what) = refused_operator(&operator.map_err(read)?) {
                return Err(named(&format!("uses {what}")));
            }
        }
        Ok(())
    }

    fn add_custom_section(&mut self, section: &CustomSectionReader<'_>) -> Result<(), String> {
        if section.name() != MARKER {
            return Ok(());
        }
        if section.data() != [VERSION] {
            let version = section.data().first().copied().unwrap_or(0);
            return Err(format!(
                "it was instrumented by version {version}, and this is {VERSION}. Compile the original module"
            ));
        }
        self.is_instrumented = true;
        Ok(())
    }

    fn finish(self) -> Result<Self, String> {
        if self.memories == 0 {
            return Err("it has no memory, in which its call stack could be saved".to_owned());
        }
        if self.is_instrumented {
            let missing =
                INSTRUMENTED.iter().find(|name| !self.reserved.iter().any(|export| export == *name));
            if let Some(missing) = missing {
                return Err(format!("it is marked as instrumented, and does not export {missing}"));
            }
        } else if let Some(export) = self.reserved.first() {
            return Err(format!("it exports {export}, a name that is reserved for instrumented modules"));
        }
        Ok(self)
    }
}

fn refused(what: &str) -> String {
    format!("{what}, which a checkpoint does not hold")
}

/// What of an instruction a checkpoint does not hold: tables and segments that have changed, and references on the stack.
fn refused_operator(operator: &Operator<'_>) -> Option<&'static str> {
    use Operator as Op;
    Some(match operator {
        Op::TableSet { .. } => "table.set",
        Op::TableGrow { .. } => "table.grow",
        Op::TableFill { .. } => "table.fill",
        Op::TableCopy { .. } => "table.copy",
        Op::TableInit { .. } => "table.init",
        Op::ElemDrop { .. } => "elem.drop",
        Op::DataDrop { .. } => "data.drop",
        Op::MemoryInit { .. } => "memory.init",
        Op::TableGet { .. } => "table.get",
        Op::RefNull { .. } | Op::RefFunc { .. } | Op::RefIsNull => "references",
        Op::ReturnCall { .. } | Op::ReturnCallIndirect { .. } | Op::ReturnCallRef { .. } => "tail calls",
        Op::Try { .. } | Op::TryTable { .. } | Op::Throw { .. } | Op::ThrowRef | Op::Rethrow { .. } => {
            "exceptions"
        }
        _ => return None,
    })
}

/// The name of a function, or its index.
fn name_of(function: u32, module: &[u8]) -> String {
    let sections = Parser::new(0).parse_all(module).filter_map(|payload| match payload {
        Ok(Payload::CustomSection(section)) => Some(section),
        _ => None,
    });
    let name = sections.filter_map(|section| name_in(function, &section)).next();
    name.unwrap_or_else(|| function.to_string())
}

fn name_in(function: u32, section: &CustomSectionReader<'_>) -> Option<String> {
    let KnownCustom::Name(names) = section.as_known() else { return None };
    let functions = names.into_iter().filter_map(|subsection| match subsection {
        Ok(Name::Function(functions)) => Some(functions),
        _ => None,
    });
    let name = functions.flatten().filter_map(Result::ok).find(|naming| naming.index == function)?.name;
    Some(format!("{:#}", rustc_demangle::demangle(name)))
}
