//! Generates the messages of the bench.

fn main() {
    runnel_gen::generate("../interfaces");
}
