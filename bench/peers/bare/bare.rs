//! A program that does nothing: what a static Rust program takes of memory before it does anything.

fn main() {
    loop {
        std::thread::park();
    }
}
