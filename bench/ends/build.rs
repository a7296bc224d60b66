//! Generates the message types of the bench.

fn main() {
    runnel_gen::generate("../interfaces");
}
