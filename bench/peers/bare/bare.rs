//! A program that does nothing: the least memory that a static Rust program uses.

fn main() {
    loop {
        std::thread::park();
    }
}
