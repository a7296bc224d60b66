//! A node in WebAssembly that makes the calls of its host that an input describes.
//!
//! The module is the same for all inputs: it is compiled once. It gets its calls as an argument of the program, and makes one
//! after another. Functions and parameters are those that the C header declares.

mod functions;
mod memory;
mod module;
mod reader;

use functions::{FUNCTIONS, Kind};
pub use memory::MOST_ENTITIES;
use memory::{CALL, CALLS, INPUT, MAX_CALLS};
pub use module::module;
use reader::Reader;

/// The argument of the program by which it makes the calls of an input.
pub fn argument(input: &[u8]) -> String {
    let mut memory = vec![0; (CALLS - INPUT) as usize];
    let input = &input[..input.len().min(memory.len())];
    memory[..input.len()].copy_from_slice(input);
    let mut reader = Reader(input);
    for _ in 0..MAX_CALLS {
        let Some(choice) = reader.next() else { break };
        memory.extend(call(usize::from(choice) % FUNCTIONS.len(), &mut reader));
    }
    memory.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|nibble| char::from(b'a' + nibble)).collect()
}

/// A call: the function, and the values of its parameters.
fn call(index: usize, reader: &mut Reader<'_>) -> [u8; CALL] {
    let function = &FUNCTIONS[index];
    let mut call = [0; CALL];
    call[..4].copy_from_slice(&(index as u32).to_le_bytes());
    call[4] = 1;
    let mut length = 0;
    for (kind, place) in function.parameters.iter().zip(call[8..].chunks_exact_mut(8)) {
        let value = match kind {
            Kind::Length => length,
            // A call that waits for long leaves no time for others.
            Kind::Long if function.name == "wait" => reader.number() % 1_000_000,
            kind => {
                let (value, of_length) = reader.value(*kind);
                length = of_length;
                value
            }
        };
        place.copy_from_slice(&value.to_le_bytes());
    }
    call
}
