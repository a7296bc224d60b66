//! Generates the types of this crate's packages.

fn main() {
    runnel_gen::generate("interfaces");
}
