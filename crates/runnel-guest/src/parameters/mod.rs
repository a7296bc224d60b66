//! Parameters of a node.

pub(crate) mod declaration;
pub(crate) mod value;

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use runnel_core::wire::Encoding;
use runnel_msgs::rcl_interfaces::msg;

use crate::abi::Event;
use crate::encoding::{decode, encoded};
use crate::error::Error;
use crate::event_loop::{self, Source};
use crate::host;
use crate::node::Node;
use declaration::{IntoParameterDeclaration, ParameterDeclaration};
use value::{FromParameter, ParameterValue};

/// A parameter: its name, and its value unless it has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, such as `limits.speed`.
    pub name: String,
    /// Its value.
    pub value: Option<ParameterValue>,
}

/// Keeps a callback for changes of parameters. Dropping it removes the callback.
#[must_use = "the callback is removed when this is dropped: bind it to a name, `let _changes = ...`, not `let _ = ...`"]
pub struct ParameterCallbackHandle(Source);

impl Node {
    /// Declares a parameter, and returns its value: that of the arguments (`-p rate:=5.0`, `--params-file`), or else the
    /// default. Other nodes can then read and set it. A parameter that is declared already keeps its declaration and value.
    ///
    /// # Errors
    /// If the value has another type.
    pub fn declare_parameter<D: IntoParameterDeclaration>(
        &self,
        name: &str,
        declaration: D,
    ) -> Result<D::Value, Error> {
        let ParameterDeclaration { default, is_read_only } = declaration.into_declaration();
        let default: ParameterValue = default.into();
        let value = with_bytes(name, &default, |bytes| {
            host::declare_parameter(self.handle(), name, bytes, is_read_only)
        })?;
        self.notify(name, &value);
        read(name, &value)
    }

    /// The value of a declared parameter.
    ///
    /// # Errors
    /// If it is not declared, has no value, or has another type.
    pub fn get_parameter<T: FromParameter>(&self, name: &str) -> Result<T, Error> {
        read(name, &host::get_parameter(self.handle(), name)?)
    }

    /// The value of a parameter, or `default` if it is not declared or has no value.
    ///
    /// # Errors
    /// [`Error::Parameter`] if it has another type.
    pub fn get_parameter_or<T: FromParameter>(&self, name: &str, default: T) -> Result<T, Error> {
        match self.get_parameter(name) {
            Err(Error::Invalid(_)) => Ok(default),
            value => value,
        }
    }

    /// Whether a parameter is declared.
    pub fn has_parameter(&self, name: &str) -> bool {
        host::get_parameter(self.handle(), name).is_ok()
    }

    /// Sets a declared parameter.
    ///
    /// # Errors
    /// If it is not declared or is read-only, or the value has another type.
    pub fn set_parameter(&self, name: &str, value: impl Into<ParameterValue>) -> Result<(), Error> {
        with_bytes(name, &value.into(), |bytes| {
            host::set_parameter(self.handle(), name, bytes)?;
            self.notify(name, bytes);
            Ok(())
        })
    }

    /// Adds a callback that is called after a parameter was set or declared.
    pub fn add_post_set_parameters_callback(
        &self,
        mut callback: impl FnMut(&[Parameter]) + Send + 'static,
    ) -> ParameterCallbackHandle {
        static ADDED: AtomicU32 = AtomicU32::new(0);
        let source = Source::Parameters(self.handle(), ADDED.fetch_add(1, Ordering::Relaxed));
        let on_change = move |_: &Event, bytes: &[u8]| {
            if let Ok(msg::Parameter { name, value }) = decode(Encoding::Xcdr1, bytes) {
                callback(&[Parameter { name, value: value::of_message(value) }]);
            }
        };
        event_loop::add(source, Box::new(on_change));
        ParameterCallbackHandle(source)
    }
}

impl Node {
    /// Runs the callbacks for a change that the host does not report, since the program has made it.
    fn notify(&self, name: &str, value: &[u8]) {
        let Ok(value) = decode(Encoding::Xcdr1, value) else { return };
        let parameter = msg::Parameter { name: name.to_owned(), value };
        // What was decoded has an encoding.
        let _ =
            encoded(&parameter, Encoding::Xcdr1, |bytes| event_loop::change_parameter(self.handle(), bytes));
    }
}

/// Calls `send` with the message of a value.
fn with_bytes<R>(
    name: &str,
    value: &ParameterValue,
    send: impl FnOnce(&[u8]) -> Result<R, Error>,
) -> Result<R, Error> {
    let sent = encoded(&value::to_message(value), Encoding::Xcdr1, send);
    sent.unwrap_or_else(|why| Err(Error::Encode { what: format!("parameter {name}"), why }))
}

/// The value in a message.
fn read<T: FromParameter>(name: &str, bytes: &[u8]) -> Result<T, Error> {
    let invalid = |why: &dyn fmt::Display| Error::Invalid(format!("parameter {name}: {why}"));
    let message = decode(Encoding::Xcdr1, bytes).map_err(|why| invalid(&why))?;
    let value = value::of_message(message).ok_or_else(|| invalid(&"it has no value"))?;
    let wrong = || Error::Parameter { name: name.to_owned(), is: value.kind(), wanted: T::EXPECTED };
    T::from_parameter(&value).ok_or_else(wrong)
}

impl Drop for ParameterCallbackHandle {
    fn drop(&mut self) {
        event_loop::remove(self.0);
    }
}

impl fmt::Debug for ParameterCallbackHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterCallbackHandle").finish_non_exhaustive()
    }
}
