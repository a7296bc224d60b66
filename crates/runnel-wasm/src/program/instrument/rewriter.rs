//! Adds to a module what the host needs to stop its loops and to reach its state.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, CustomSection, EntityType, ExportKind, ExportSection, GlobalSection,
    GlobalType, ImportSection, Instruction, MemoryType, Module, SectionId, TypeSection, ValType,
};
use wasmparser::Operator;

use super::survey::Survey;
use super::{BUFFER_PAGES, GLOBAL, MARKER, PAUSE, PAUSE_FLAG, VERSION};

/// Largest number of pages of a 32-bit memory.
const MOST_PAGES: u64 = 65536;

/// Rewrites a module that is valid and that a checkpoint can hold.
pub fn rewrite(module: &[u8], survey: &Survey) -> Result<Vec<u8>, String> {
    let mut rewritten = Module::new();
    Rewriter { survey, written: 0 }
        .parse_core_module(&mut rewritten, wasmparser::Parser::new(0), module)
        .map_err(|error| error.to_string())?;
    rewritten.section(&CustomSection { name: MARKER.into(), data: (&[VERSION]).into() });
    Ok(rewritten.finish())
}

/// The new function is the last one of the imports, so that later functions have an index that is higher by one. The new type
/// and the new global are the last ones of all.
struct Rewriter<'a> {
    survey: &'a Survey,
    /// How many of [`EXTENDED`] have been written.
    written: usize,
}

type Rewritten = Result<(), Error<Infallible>>;

/// The sections that get new entries, in the order of a module.
const EXTENDED: [SectionId; 4] = [SectionId::Type, SectionId::Import, SectionId::Global, SectionId::Export];

/// Their places in the order of sections.
fn place(section: SectionId) -> u8 {
    match section {
        SectionId::Type => 1,
        SectionId::Import => 2,
        SectionId::Function | SectionId::Table | SectionId::Memory | SectionId::Tag => 3,
        SectionId::Global => 4,
        SectionId::Export => 5,
        _ => 6,
    }
}

impl Rewriter<'_> {
    fn pause_type(&self) -> u32 {
        self.survey.pause_type.unwrap_or(self.survey.types())
    }

    fn add_type(&self, types: &mut TypeSection) {
        if self.survey.pause_type.is_none() {
            types.ty().function([], []);
        }
    }

    fn add_import(&self, imports: &mut ImportSection) {
        imports.import(PAUSE.0, PAUSE.1, EntityType::Function(self.pause_type()));
    }

    fn add_global(&self, globals: &mut GlobalSection) {
        let pause_flag = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        globals.global(pause_flag, &ConstExpr::i32_const(0));
    }

    fn add_exports(&self, exports: &mut ExportSection) {
        exports.export(PAUSE_FLAG, ExportKind::Global, self.survey.globals);
        for (number, &index) in self.survey.mutable_globals.iter().enumerate() {
            exports.export(&format!("{GLOBAL}{number}"), ExportKind::Global, index);
        }
        if !self.survey.exports_memory {
            exports.export("memory", ExportKind::Memory, 0);
        }
    }

    /// Writes a section that the module does not have.
    fn write_missing(&self, module: &mut Module, section: SectionId) {
        match section {
            SectionId::Type => {
                let mut types = TypeSection::new();
                self.add_type(&mut types);
                module.section(&types);
            }
            SectionId::Import => {
                let mut imports = ImportSection::new();
                self.add_import(&mut imports);
                module.section(&imports);
            }
            SectionId::Global => {
                let mut globals = GlobalSection::new();
                self.add_global(&mut globals);
                module.section(&globals);
            }
            _ => {
                let mut exports = ExportSection::new();
                self.add_exports(&mut exports);
                module.section(&exports);
            }
        }
    }
}

impl Reencode for Rewriter<'_> {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error> {
        Ok(if function < self.survey.imported_functions { function } else { function + 1 })
    }

    fn memory_type(&mut self, memory: wasmparser::MemoryType) -> Result<MemoryType, Error> {
        let memory = utils::memory_type(self, memory);
        let maximum = memory.maximum.map(|pages| (pages + BUFFER_PAGES).min(MOST_PAGES));
        Ok(MemoryType { maximum, ..memory })
    }

    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        _after: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Rewritten {
        let next = before.map_or(u8::MAX, place);
        while let Some(&section) = EXTENDED.get(self.written).filter(|section| place(**section) <= next) {
            self.written += 1;
            if place(section) < next {
                self.write_missing(module, section);
            }
        }
        Ok(())
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Rewritten {
        utils::parse_type_section(self, types, section)?;
        self.add_type(types);
        Ok(())
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: wasmparser::ImportSectionReader<'_>,
    ) -> Rewritten {
        utils::parse_import_section(self, imports, section)?;
        self.add_import(imports);
        Ok(())
    }

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: wasmparser::GlobalSectionReader<'_>,
    ) -> Rewritten {
        utils::parse_global_section(self, globals, section)?;
        self.add_global(globals);
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Rewritten {
        utils::parse_export_section(self, exports, section)?;
        self.add_exports(exports);
        Ok(())
    }

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: wasmparser::FunctionBody<'_>,
    ) -> Rewritten {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        let mut nesting = LoopNesting::default();
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            let is_outer_loop = nesting.enters_outer_loop(&operator);
            function.instruction(&self.instruction(operator)?);
            if is_outer_loop {
                function.instruction(&Instruction::GlobalGet(self.survey.globals));
                function.instruction(&Instruction::If(BlockType::Empty));
                function.instruction(&Instruction::Call(self.survey.imported_functions));
                function.instruction(&Instruction::End);
            }
        }
        code.function(&function);
        Ok(())
    }

    fn parse_custom_section(
        &mut self,
        module: &mut Module,
        section: wasmparser::CustomSectionReader<'_>,
    ) -> Rewritten {
        if is_outdated(section.name()) { Ok(()) } else { utils::parse_custom_section(self, module, section) }
    }
}

/// Whether a custom section is wrong after the change: it has offsets of code, or features that `wasm-opt` would use.
fn is_outdated(section: &str) -> bool {
    let prefixes = [".debug_", "linking", "metadata.code.", "reloc.", "sourceMappingURL", "target_features"];
    prefixes.iter().any(|prefix| section.starts_with(prefix))
}

/// The blocks that are open in a function.
#[derive(Default)]
struct LoopNesting {
    /// Whether each of them is a loop.
    blocks: Vec<bool>,
    loops: usize,
}

impl LoopNesting {
    /// Whether an instruction begins a loop that no other loop of the function contains.
    fn enters_outer_loop(&mut self, operator: &Operator<'_>) -> bool {
        let is_loop = matches!(operator, Operator::Loop { .. });
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                self.blocks.push(is_loop);
                self.loops += usize::from(is_loop);
            }
            Operator::End => self.loops -= usize::from(self.blocks.pop() == Some(true)),
            _ => {}
        }
        is_loop && self.loops == 1
    }
}
