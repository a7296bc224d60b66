//! Fields by path: `pose.position.x`, `poses[3].position`, `ranges[0]`.

use super::describe::field_names;
use super::fit::{fit_element, fit_field};
use super::{Array, DynamicError, DynamicErrorKind, DynamicMessage, Value, ValueRef, describe, join};
use crate::schema::{Field, Schema};
use std::sync::Arc;

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    Field(&'a str),
    Element(usize),
}

impl DynamicMessage {
    /// The value at a path of field names joined by dots (or slashes, as rostopic has them), each with an index in
    /// brackets if it is an array and one element is meant. A time or duration has the parts `secs` and `nsecs`, or, as ROS 2
    /// calls them, `sec` and `nanosec`.
    ///
    /// # Errors
    /// If the path cannot be read or leads nowhere; the error names the part that does not exist.
    pub fn get(&self, path: &str) -> Result<ValueRef<'_>, DynamicError> {
        let mut value = ValueRef::Message(self);
        let mut walked = String::new();
        for step in steps(path)? {
            walked = join(&walked, &step.to_string());
            value = child(value, step).map_err(|kind| DynamicError::from(kind).within(&walked))?;
        }
        Ok(value)
    }

    /// Sets the value at a path. Numbers, also in arrays, are converted to the field's type if its range allows; floats may
    /// lose precision.
    ///
    /// # Errors
    /// As [`DynamicMessage::get`], and if the value does not fit the field. The message is then unchanged.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) -> Result<(), DynamicError> {
        let steps = steps(path)?;
        self.set_steps(&steps, value.into())
    }

    fn set_steps(&mut self, steps: &[Step<'_>], value: Value) -> Result<(), DynamicError> {
        let Some((Step::Field(name), rest)) = steps.split_first() else {
            return Err(DynamicErrorKind::BadPath.into());
        };
        let schema = self.schema.clone();
        let (index, field, part) =
            find(&schema, name).map_err(|kind| DynamicError::from(kind).within(name))?;
        let Some(place) = self.fields.get_mut(index) else {
            return Err(DynamicError::from(no_such_field(&schema)).within(name));
        };
        set_in_field(place, field, part, rest, value).map_err(|error| error.within(name))
    }
}

impl std::fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Field(name) => f.write_str(name),
            Self::Element(index) => write!(f, "[{index}]"),
        }
    }
}

fn set_in_field(
    place: &mut Value,
    field: &Field,
    part: Option<&Arc<Schema>>,
    rest: &[Step<'_>],
    value: Value,
) -> Result<(), DynamicError> {
    match (place, rest) {
        (place, []) => {
            *place = fit_field(field, part, value)?;
            Ok(())
        }
        (Value::Message(message), steps @ [Step::Field(_), ..]) => message.set_steps(steps, value),
        (Value::Array(array), [Step::Element(index), rest @ ..]) => {
            let set = set_in_array(array, *index, field, part, rest, value);
            set.map_err(|error| error.within(&format!("[{index}]")))
        }
        (place, _) => Err(DynamicErrorKind::NoParts { found: describe(place.view()) }.into()),
    }
}

fn set_in_array(
    array: &mut Array,
    index: usize,
    field: &Field,
    part: Option<&Arc<Schema>>,
    rest: &[Step<'_>],
    value: Value,
) -> Result<(), DynamicError> {
    let len = array.len();
    if index >= len {
        return Err(DynamicErrorKind::NoSuchElement { len }.into());
    }
    match (array, rest) {
        (array, []) => {
            let value = fit_element(&field.element, part, value)?;
            let mismatch = |value: Value| DynamicErrorKind::NoParts { found: describe(value.view()) };
            Ok(array.replace(index, value).map_err(mismatch)?)
        }
        (Array::Message(messages), rest) => match messages.get_mut(index) {
            Some(message) => message.set_steps(rest, value),
            None => Err(DynamicErrorKind::NoSuchElement { len }.into()),
        },
        (array, _) => {
            let found = array.get(index).map(describe).unwrap_or_default();
            Err(DynamicErrorKind::NoParts { found }.into())
        }
    }
}

fn child<'a>(value: ValueRef<'a>, step: Step<'_>) -> Result<ValueRef<'a>, DynamicErrorKind> {
    match (value, step) {
        (ValueRef::Message(message), Step::Field(name)) => {
            message.field(name).map(Value::view).ok_or_else(|| no_such_field(&message.schema))
        }
        (ValueRef::Array(array), Step::Element(index)) => {
            array.get(index).ok_or(DynamicErrorKind::NoSuchElement { len: array.len() })
        }
        (value, Step::Field(name)) => {
            seconds(value, name).ok_or_else(|| DynamicErrorKind::NoParts { found: describe(value) })
        }
        (value, _) => Err(DynamicErrorKind::NoParts { found: describe(value) }),
    }
}

/// A part of a time or duration, by its name in either generation. ROS 1 has unsigned seconds in times, and nanoseconds with a
/// sign in durations; ROS 2 the other way round.
fn seconds(value: ValueRef<'_>, name: &str) -> Option<ValueRef<'static>> {
    let (sec, nanosec, is_time) = match value {
        ValueRef::Time(time) => (time.sec, time.nanosec, true),
        ValueRef::Duration(duration) => (duration.sec, duration.nanosec, false),
        _ => return None,
    };
    match name {
        "secs" if is_time => Some(ValueRef::UInt((sec as u32).into())),
        "secs" | "sec" => Some(ValueRef::Int(sec.into())),
        "nsecs" if !is_time => Some(ValueRef::Int((nanosec as i32).into())),
        "nsecs" | "nanosec" => Some(ValueRef::UInt(nanosec.into())),
        _ => None,
    }
}

type Found<'a> = (usize, &'a Field, Option<&'a Arc<Schema>>);

fn find<'a>(schema: &'a Schema, name: &str) -> Result<Found<'a>, DynamicErrorKind> {
    let mut fields = super::parts(schema).enumerate();
    let found = fields.find(|(_, (field, _))| field.name == name);
    found.map(|(index, (field, part))| (index, field, part)).ok_or_else(|| no_such_field(schema))
}

pub(crate) fn no_such_field(schema: &Schema) -> DynamicErrorKind {
    DynamicErrorKind::NoSuchField { message: schema.def.name.to_string(), fields: field_names(schema) }
}

/// Reads a path; a slash may lead it.
fn steps(path: &str) -> Result<Vec<Step<'_>>, DynamicError> {
    let bad = || DynamicError::from(DynamicErrorKind::BadPath).within(path);
    let mut steps = Vec::new();
    for part in path.strip_prefix('/').unwrap_or(path).split(['.', '/']) {
        let (name, indices) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() {
            return Err(bad());
        }
        steps.push(Step::Field(name));
        let mut rest = indices;
        while !rest.is_empty() {
            let (index, after) =
                rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).ok_or_else(bad)?;
            steps.push(Step::Element(index.parse().map_err(|_| bad())?));
            rest = after;
        }
    }
    Ok(steps)
}
