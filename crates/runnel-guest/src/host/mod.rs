//! Imports of the host, as functions that are safe to call. All unsafe code of the crate is here.

pub(crate) mod actions;
pub(crate) mod services;
pub(crate) mod topics;

use std::time::Duration;

use crate::abi::{self, Clock, Event, Handle, Severity};
use crate::error::Error;

/// Waits for the next event and reads its payload into `payload`.
pub(crate) fn wait(timeout: Duration, payload: &mut Vec<u8>) -> Result<Event, Error> {
    let mut event = Event::default();
    let timeout = nanoseconds(timeout);
    // SAFETY: the host writes one event, and at most the capacity of the vector.
    fill(payload, |bytes, capacity| unsafe { abi::wait(timeout, &raw mut event, bytes, capacity) })?;
    Ok(event)
}

pub(crate) fn is_shutting_down() -> bool {
    // SAFETY: it has no parameters.
    unsafe { abi::is_shutting_down() }
}

/// The command line without the program's name and arguments for ROS.
pub(crate) fn arguments() -> Vec<String> {
    // SAFETY: the host writes at most the capacity.
    let bytes = bytes(|bytes, capacity| unsafe { abi::arguments(bytes, capacity) }).unwrap_or_default();
    let arguments = bytes.split_inclusive(|byte| *byte == 0).skip(1);
    arguments.map(|text| String::from_utf8_lossy(text).trim_end_matches('\0').to_owned()).collect()
}

pub(crate) fn graphs() -> u32 {
    // SAFETY: it has no parameters.
    unsafe { abi::graphs() }
}

pub(crate) fn define_type(name: &str, definition: &str) -> Result<(), Error> {
    // SAFETY: the host reads the two texts.
    done(unsafe { abi::define_type(name.as_ptr(), name.len(), definition.as_ptr(), definition.len()) })
}

pub(crate) fn create_node(name: &str) -> Result<Handle, Error> {
    // SAFETY: the host reads the text.
    number(unsafe { abi::create_node(name.as_ptr(), name.len()) })
}

pub(crate) fn node_name(node: Handle) -> Result<String, Error> {
    // SAFETY: the host writes at most the capacity.
    text(|bytes, capacity| unsafe { abi::node_name(node, bytes, capacity) })
}

pub(crate) fn resolve(node: Handle, name: &str) -> Result<String, Error> {
    // SAFETY: the host reads the text, and writes at most the capacity.
    text(|bytes, capacity| unsafe { abi::resolve(node, name.as_ptr(), name.len(), bytes, capacity) })
}

pub(crate) fn declare_parameter(
    node: Handle,
    name: &str,
    default: &[u8],
    read_only: bool,
) -> Result<Vec<u8>, Error> {
    let (name, default) = ((name.as_ptr(), name.len()), (default.as_ptr(), default.len()));
    // SAFETY: the host reads the text and the bytes, and writes at most the capacity.
    bytes(|bytes, capacity| unsafe {
        abi::declare_parameter(node, name.0, name.1, default.0, default.1, read_only, bytes, capacity)
    })
}

pub(crate) fn get_parameter(node: Handle, name: &str) -> Result<Vec<u8>, Error> {
    // SAFETY: the host reads the text, and writes at most the capacity.
    bytes(|bytes, capacity| unsafe { abi::get_parameter(node, name.as_ptr(), name.len(), bytes, capacity) })
}

pub(crate) fn set_parameter(node: Handle, name: &str, value: &[u8]) -> Result<(), Error> {
    // SAFETY: the host reads the text and the bytes.
    done(unsafe { abi::set_parameter(node, name.as_ptr(), name.len(), value.as_ptr(), value.len()) })
}

pub(crate) fn create_timer(
    node: Handle,
    period: Duration,
    clock: Clock,
    oneshot: bool,
) -> Result<Handle, Error> {
    // SAFETY: it has no pointers.
    number(unsafe { abi::create_timer(node, nanoseconds(period), clock, oneshot) })
}

pub(crate) fn cancel_timer(timer: Handle) -> Result<(), Error> {
    // SAFETY: it has no pointers.
    done(unsafe { abi::cancel_timer(timer) })
}

pub(crate) fn reset_timer(timer: Handle) -> Result<(), Error> {
    // SAFETY: it has no pointers.
    done(unsafe { abi::reset_timer(timer) })
}

/// Destroys an entity. There is nothing to do if the host has done so already.
pub(crate) fn close(entity: Handle) {
    // SAFETY: it has no pointers.
    unsafe { abi::close(entity) };
}

pub(crate) fn now(clock: Clock) -> i64 {
    // SAFETY: it has no pointers.
    unsafe { abi::now(clock) }
}

/// Logs a text. A failure to do so cannot be reported.
pub(crate) fn log(node: Handle, severity: Severity, text: &str) {
    // SAFETY: the host reads the text.
    unsafe { abi::log(node, severity, text.as_ptr(), text.len()) };
}

/// The positive value of a successful call: a handle or a count.
fn number(code: i32) -> Result<u32, Error> {
    u32::try_from(code).map_err(|_| Error::of_host(abi::Error(code), last_error()))
}

fn done(code: i32) -> Result<(), Error> {
    number(code).map(|_| ())
}

/// A value that the host writes through a pointer.
fn value<T: Default>(write: impl FnOnce(*mut T) -> i32) -> Result<T, Error> {
    let mut value = T::default();
    done(write(&raw mut value))?;
    Ok(value)
}

fn last_error() -> String {
    let mut bytes = Vec::with_capacity(256);
    loop {
        // SAFETY: the host writes at most the capacity.
        let length = unsafe { abi::last_error(bytes.as_mut_ptr(), bytes.capacity()) };
        let length = usize::try_from(length).unwrap_or(0);
        if length <= bytes.capacity() {
            // SAFETY: the host has written that many bytes.
            unsafe { bytes.set_len(length) };
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        bytes.reserve(length);
    }
}

/// Bytes of a length that only the host knows.
fn bytes(write: impl FnMut(*mut u8, usize) -> i32) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::with_capacity(64);
    fill(&mut bytes, write)?;
    Ok(bytes)
}

fn text(write: impl FnMut(*mut u8, usize) -> i32) -> Result<String, Error> {
    bytes(write).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Replaces the content of `bytes`, which grows as the host asks. `write` gets a pointer and its capacity, and writes no
/// more than that.
fn fill(bytes: &mut Vec<u8>, mut write: impl FnMut(*mut u8, usize) -> i32) -> Result<(), Error> {
    bytes.clear();
    loop {
        let length = number(write(bytes.as_mut_ptr(), bytes.capacity()))? as usize;
        if length <= bytes.capacity() {
            // SAFETY: `write` has initialized that many bytes.
            unsafe { bytes.set_len(length) };
            return Ok(());
        }
        bytes.reserve(length);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
