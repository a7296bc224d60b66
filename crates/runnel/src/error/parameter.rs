//! Texts of the error of a parameter that has another type.

/// What to give for a type, and an example on a command line.
pub(super) fn advice(wanted: &str) -> (&'static str, &'static str) {
    match wanted {
        "f32" | "f64" => ("a number", "5"),
        "bool" => ("true or false", "true"),
        _ if is_integer(wanted) => ("an integer within the type's range", "5"),
        "alloc::string::String" => ("a string", "TEXT"),
        _ => ("a value of that type", "VALUE"),
    }
}

fn is_integer(wanted: &str) -> bool {
    let size = wanted.strip_prefix(['i', 'u']);
    size.is_some_and(|size| matches!(size, "8" | "16" | "32" | "64" | "size"))
}

/// The type's name as programs write it.
pub(super) fn short_name(wanted: &str) -> String {
    wanted.replace("alloc::string::", "").replace("alloc::vec::", "")
}
