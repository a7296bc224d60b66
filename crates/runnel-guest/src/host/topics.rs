//! Publishers and subscriptions.

use super::{done, number};
use crate::abi::{self, Encoding, Handle, Qos};
use crate::error::Error;

pub(crate) fn create_publisher(
    node: Handle,
    topic: &str,
    type_name: &str,
    encoding: Encoding,
    qos: &Qos,
) -> Result<Handle, Error> {
    let (topic, type_name) = ((topic.as_ptr(), topic.len()), (type_name.as_ptr(), type_name.len()));
    // SAFETY: the host reads the texts and the record.
    number(unsafe { abi::create_publisher(node, topic.0, topic.1, type_name.0, type_name.1, encoding, qos) })
}

pub(crate) fn publish(publisher: Handle, message: &[u8]) -> Result<(), Error> {
    // SAFETY: the host reads the bytes.
    done(unsafe { abi::publish(publisher, message.as_ptr(), message.len()) })
}

pub(crate) fn subscription_count(publisher: Handle) -> Result<u32, Error> {
    // SAFETY: it has no pointers.
    number(unsafe { abi::subscription_count(publisher) })
}

pub(crate) fn create_subscription(
    node: Handle,
    topic: &str,
    type_name: &str,
    encoding: Encoding,
    qos: &Qos,
) -> Result<Handle, Error> {
    let (topic, type_name) = ((topic.as_ptr(), topic.len()), (type_name.as_ptr(), type_name.len()));
    // SAFETY: the host reads the texts and the record.
    number(unsafe {
        abi::create_subscription(node, topic.0, topic.1, type_name.0, type_name.1, encoding, qos)
    })
}

pub(crate) fn publisher_count(subscription: Handle) -> Result<u32, Error> {
    // SAFETY: it has no pointers.
    number(unsafe { abi::publisher_count(subscription) })
}
