//! The functions of the host, and the kinds of their parameters.

use std::sync::LazyLock;

/// Functions of WASI, with the types of their parameters: `i` is an i32, `l` an i64.
pub(super) const WASI: [(&str, &str); 18] = [
    ("args_sizes_get", "ii"),
    ("args_get", "ii"),
    ("environ_sizes_get", "ii"),
    ("environ_get", "ii"),
    ("clock_time_get", "ili"),
    ("clock_res_get", "ii"),
    ("poll_oneoff", "iiii"),
    ("fd_write", "iiii"),
    ("fd_fdstat_get", "ii"),
    ("fd_close", "i"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_filestat_get", "ii"),
    ("fd_prestat_get", "ii"),
    ("fd_prestat_dir_name", "iii"),
    ("fd_read", "iiii"),
    ("fd_seek", "ilii"),
    ("random_get", "ii"),
    ("sched_yield", ""),
];

/// A parameter of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number of 32 bits: a handle, a choice, a status.
    Number,
    /// A number of 64 bits: an id, or a time in nanoseconds.
    Long,
    /// A name or another text, with its length.
    Text,
    /// A message, with its length.
    Bytes,
    /// A record that the host reads.
    Record,
    /// Where the host writes a record.
    Place,
    /// Where the host writes bytes, with the capacity.
    Buffer,
    /// The length or capacity of the parameter before.
    Length,
}

impl Kind {
    pub(super) fn of(parameter: &str) -> Option<Self> {
        let (of_type, name) = parameter.rsplit_once(' ')?;
        Some(match (of_type, name.starts_with('*')) {
            ("const char", true) => Self::Text,
            ("const void", true) => Self::Bytes,
            ("void", true) => Self::Buffer,
            (of_type, true) if of_type.starts_with("const ") => Self::Record,
            (_, true) => Self::Place,
            ("size_t", false) => Self::Length,
            ("uint64_t" | "int64_t", false) => Self::Long,
            _ => Self::Number,
        })
    }

    pub(super) fn wasm_type(self) -> &'static str {
        if self == Self::Long { "i64" } else { "i32" }
    }
}

/// A function of the host.
pub(super) struct Function {
    pub(super) module: &'static str,
    pub(super) name: String,
    pub(super) parameters: Vec<Kind>,
    /// Type of the result, in WebAssembly.
    pub(super) result: &'static str,
}

/// All functions of the host: those of its header, and of WASI but the one that ends the node.
pub(super) static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let header = include_str!("../../../../crates/runnel-guest/include/runnel.h");
    let declarations = header.split("RUNNEL_IMPORT(\"").skip(1);
    let wasi = WASI.iter().map(|(name, parameters)| Function {
        module: "wasi_snapshot_preview1",
        name: (*name).to_owned(),
        parameters: parameters.chars().map(|of| if of == 'l' { Kind::Long } else { Kind::Number }).collect(),
        result: "i32",
    });
    declarations.map(|text| declared(text).expect("a declaration of the header")).chain(wasi).collect()
});

/// Reads `wait")\nint32_t runnel_wait(uint64_t timeout, ..);`.
pub(super) fn declared(text: &str) -> Option<Function> {
    let (name, text) = text.split_once("\")")?;
    let (result, text) = text.trim().split_once(' ')?;
    let (_, text) = text.split_once('(')?;
    let (parameters, _) = text.split_once(')')?;
    let parameters = parameters.split(',').map(str::trim).filter(|parameter| *parameter != "void");
    Some(Function {
        module: "runnel:guest/host@0.1.0",
        name: name.to_owned(),
        parameters: parameters.map(Kind::of).collect::<Option<_>>()?,
        result: if result == "int64_t" { "i64" } else { "i32" },
    })
}
