//! Generates the types of the standard packages.

fn main() {
    runnel_gen::generate_standard();
}
