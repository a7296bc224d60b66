//! Numbers, truth values, text and times in a text.

use super::node::{Context, Node, Scalar, wrong_type};
use crate::dynamic::{DynamicErrorKind, Value, element_name, fit_element};
use crate::schema::{Arity, Element, Primitive};
use crate::time::{Duration, Time};
use crate::yaml::YamlErrorKind;
use crate::yaml::parse::{parse_python_float, parse_yaml_bool, parse_yaml_int};
use serde::de::{MapAccess, SeqAccess};

/// The value that a scalar is for a primitive element.
pub(super) fn scalar_value(
    element: &Element,
    context: &Context,
    scalar: Scalar<'_>,
) -> Result<Value, YamlErrorKind> {
    let expected = element_name(element, Arity::One);
    let Element::Primitive(primitive) = element else {
        return Err(DynamicErrorKind::SchemaMissing { name: expected }.into());
    };
    let value = match primitive {
        Primitive::Bool => truth(scalar).map(Value::Bool),
        Primitive::F32 | Primitive::F64 => float(scalar),
        Primitive::String(_) | Primitive::WString(_) => text(context, scalar)?,
        _ => whole(scalar).map(|number| whole_value(number, &expected)).transpose()?,
    };
    let value = value.ok_or_else(|| wrong_type(expected, scalar.to_string()))?;
    fit_element(element, None, value).map_err(|error| error.kind().clone().into())
}

fn truth(scalar: Scalar<'_>) -> Option<bool> {
    match scalar {
        Scalar::Truth(value) => Some(value),
        Scalar::Whole(number @ (0 | 1)) => Some(number == 1),
        Scalar::Text(text) => parse_yaml_bool(text),
        _ => None,
    }
}

fn float(scalar: Scalar<'_>) -> Option<Value> {
    match scalar {
        Scalar::Float(number) => Some(Value::F64(number)),
        Scalar::Text(text) => {
            parse_python_float(text).map(Value::F64).or_else(|| float(Scalar::Whole(whole(scalar)?)))
        }
        Scalar::Whole(number) => Some(Value::F64(number as f64)),
        _ => None,
    }
}

fn whole(scalar: Scalar<'_>) -> Option<i128> {
    match scalar {
        Scalar::Whole(number) => Some(number),
        Scalar::Text(text) => parse_yaml_int(text),
        _ => None,
    }
}

fn whole_value(number: i128, expected: &str) -> Result<Value, DynamicErrorKind> {
    let beyond = || DynamicErrorKind::OutOfRange { expected: expected.into(), found: number.to_string() };
    Value::from_integer(number).ok_or_else(beyond)
}

fn text(context: &Context, scalar: Scalar<'_>) -> Result<Option<Value>, DynamicErrorKind> {
    let text = match scalar {
        Scalar::Text(text) => text,
        Scalar::Nothing => "",
        _ => return Ok(None),
    };
    context.take(text.len())?;
    Ok(Some(Value::String(text.to_owned())))
}

/// A time, or, with `signed`, a duration.
pub(super) struct SecondsNode {
    pub(super) signed: bool,
}

/// Wire representation of both: 32 bits each.
type Parts = (u32, u32);

impl SecondsNode {
    fn value(&self, (sec, nanosec): Parts) -> Value {
        match self.signed {
            true => Value::Duration(Duration { sec: sec as i32, nanosec }),
            false => Value::Time(Time { sec: sec as i32, nanosec }),
        }
    }

    fn part(&self) -> PartNode {
        PartNode { signed: self.signed }
    }
}

impl Node for SecondsNode {
    type Output = Value;

    fn expected(&self) -> String {
        if self.signed { "duration".into() } else { "time".into() }
    }

    fn scalar(self, context: &Context, scalar: Scalar<'_>) -> Result<Value, YamlErrorKind> {
        match scalar {
            Scalar::Text("now") if !self.signed => Ok(Value::Time(context.now)),
            Scalar::Whole(nanos) => {
                let sec = self.part().narrow(nanos.div_euclid(1_000_000_000))?;
                Ok(self.value((sec, nanos.rem_euclid(1_000_000_000) as u32)))
            }
            _ => Err(wrong_type(self.expected(), scalar.to_string())),
        }
    }

    fn list<'de, A: SeqAccess<'de>>(self, context: &Context, mut list: A) -> Result<Value, A::Error> {
        let mut next =
            |name: &str| context.within(name.into(), || list.next_element_seed(context.visit(self.part())));
        let parts = (next("secs")?, next("nsecs")?);
        let more = next("nsecs")?;
        match (parts, more) {
            ((Some(sec), Some(nanosec)), None) => Ok(self.value((sec, nanosec))),
            _ => Err(context.fail(wrong_type(self.expected(), "a list that is not [secs, nsecs]".into()))),
        }
    }

    fn mapping<'de, A: MapAccess<'de>>(self, context: &Context, mut mapping: A) -> Result<Value, A::Error> {
        let (mut sec, mut nanosec) = (None, None);
        while let Some(name) = mapping.next_key_seed(context.visit(PartName))? {
            let place = if name.starts_with('s') { &mut sec } else { &mut nanosec };
            let value =
                context.within(name.into(), || mapping.next_value_seed(context.visit(self.part())))?;
            if place.replace(value).is_some() {
                return Err(context.fail(YamlErrorKind::SetTwice));
            }
        }
        Ok(self.value((sec.unwrap_or(0), nanosec.unwrap_or(0))))
    }
}

/// Seconds or nanoseconds: 32 bits, signed in durations.
struct PartNode {
    signed: bool,
}

impl PartNode {
    fn narrow(&self, number: i128) -> Result<u32, DynamicErrorKind> {
        let narrow = match self.signed {
            true => i32::try_from(number).map(|number| number as u32),
            false => u32::try_from(number),
        };
        narrow.map_err(|_| DynamicErrorKind::OutOfRange {
            expected: self.expected(),
            found: number.to_string(),
        })
    }
}

impl Node for PartNode {
    type Output = u32;

    fn expected(&self) -> String {
        if self.signed { "int32".into() } else { "uint32".into() }
    }

    fn scalar(self, _context: &Context, scalar: Scalar<'_>) -> Result<u32, YamlErrorKind> {
        match whole(scalar) {
            Some(number) => Ok(self.narrow(number)?),
            None => Err(wrong_type(self.expected(), scalar.to_string())),
        }
    }
}

/// `secs` or `nsecs`, or their names in ROS 2.
struct PartName;

impl Node for PartName {
    type Output = &'static str;

    fn expects_text(&self) -> bool {
        true
    }

    fn expected(&self) -> String {
        "secs or nsecs".into()
    }

    fn scalar(self, context: &Context, scalar: Scalar<'_>) -> Result<&'static str, YamlErrorKind> {
        match scalar {
            Scalar::Text("secs" | "sec") => Ok("secs"),
            Scalar::Text("nsecs" | "nsec" | "nanosec") => Ok("nsecs"),
            Scalar::Text(name) => {
                let fields = "secs, nsecs".into();
                let kind = DynamicErrorKind::NoSuchField { message: "a time".into(), fields };
                context.within(name.chars().take(255).collect(), || Err(kind.into()))
            }
            _ => Err(wrong_type(self.expected(), scalar.to_string())),
        }
    }
}
