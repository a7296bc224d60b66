//! Services and their clients.

use std::time::Duration;

use super::{done, nanoseconds, number, value};
use crate::abi::{self, Encoding, Handle};
use crate::error::Error;

pub(crate) fn create_client(
    node: Handle,
    service: &str,
    type_name: &str,
    encoding: Encoding,
) -> Result<Handle, Error> {
    let (service, type_name) = ((service.as_ptr(), service.len()), (type_name.as_ptr(), type_name.len()));
    // SAFETY: the host reads the texts.
    number(unsafe { abi::create_client(node, service.0, service.1, type_name.0, type_name.1, encoding) })
}

pub(crate) fn service_is_ready(client: Handle) -> Result<bool, Error> {
    // SAFETY: it has no pointers.
    number(unsafe { abi::service_is_ready(client) }).map(|is_ready| is_ready != 0)
}

/// Sends a request; returns the call. Without a `timeout` there is no limit.
pub(crate) fn call(client: Handle, request: &[u8], timeout: Option<Duration>) -> Result<u64, Error> {
    // 0 is no limit.
    let timeout = timeout.map_or(0, |timeout| nanoseconds(timeout).max(1));
    // SAFETY: the host reads the bytes, and writes one number.
    value(|call| unsafe { abi::call(client, request.as_ptr(), request.len(), timeout, call) })
}

pub(crate) fn create_service(
    node: Handle,
    service: &str,
    type_name: &str,
    encoding: Encoding,
) -> Result<Handle, Error> {
    let (service, type_name) = ((service.as_ptr(), service.len()), (type_name.as_ptr(), type_name.len()));
    // SAFETY: the host reads the texts.
    number(unsafe { abi::create_service(node, service.0, service.1, type_name.0, type_name.1, encoding) })
}

pub(crate) fn respond(request: u64, response: &[u8]) -> Result<(), Error> {
    // SAFETY: the host reads the bytes.
    done(unsafe { abi::respond(request, response.as_ptr(), response.len()) })
}

pub(crate) fn refuse(request: u64, why: &str) -> Result<(), Error> {
    // SAFETY: the host reads the text.
    done(unsafe { abi::refuse(request, why.as_ptr(), why.len()) })
}
