//! Parts of a message as `rostopic echo` names them: `pose/position`, `poses[0]/position`, `poses[1:-1]/position/x`.

use super::path::no_such_field;
use super::{Array, DynamicError, DynamicErrorKind, DynamicMessage, Value, ValueRef, describe};

/// One step: a field, and if it is an array perhaps some of its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step<'a> {
    field: &'a str,
    elements: Option<Elements>,
}

/// Elements of an array, counted from the end where a number is negative, as in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Elements {
    One(i64),
    Slice { start: Option<i64>, stop: Option<i64>, step: i64 },
}

impl DynamicMessage {
    /// The value at a path: field names joined by slashes, each optionally with an index or a slice in brackets. The path
    /// after a slice is applied to each of its elements, and gives an array.
    ///
    /// # Errors
    /// If the path is invalid or not found, or the path after a slice gives an array itself.
    pub fn select(&self, path: &str) -> Result<Value, DynamicError> {
        let steps: Option<Vec<Step<'_>>> =
            path.split('/').filter(|part| !part.is_empty()).map(step).collect();
        let steps = steps.ok_or_else(|| DynamicError::from(DynamicErrorKind::BadPath).within(path))?;
        let selected = select(ValueRef::Message(self), &steps);
        selected.map_err(|kind| DynamicError::from(kind).within(path))
    }
}

fn step(part: &str) -> Option<Step<'_>> {
    let Some((field, rest)) = part.split_once('[') else { return Some(Step { field: part, elements: None }) };
    let numbers: Vec<&str> = rest.strip_suffix(']')?.split(':').collect();
    let number = |text: &str| match text {
        "" => Some(None),
        text => text.parse().ok().map(Some),
    };
    let elements = match numbers.as_slice() {
        [index] => Elements::One(index.parse().ok()?),
        [start, stop, step @ ..] if step.len() < 2 => Elements::Slice {
            start: number(start)?,
            stop: number(stop)?,
            step: step.first().map_or(Some(None), |step| number(step))?.unwrap_or(1),
        },
        _ => return None,
    };
    Some(Step { field, elements: Some(elements) })
}

fn select(value: ValueRef<'_>, steps: &[Step<'_>]) -> Result<Value, DynamicErrorKind> {
    let Some((step, rest)) = steps.split_first() else { return Ok(value.to_value()) };
    let ValueRef::Message(message) = value else {
        return Err(DynamicErrorKind::NoParts { found: describe(value) });
    };
    let field = message.field(step.field).ok_or_else(|| no_such_field(&message.schema))?;
    match (field, &step.elements) {
        (field, None) => select(field.view(), rest),
        (Value::Array(array), Some(Elements::One(index))) => {
            let none = DynamicErrorKind::NoSuchElement { len: array.len() };
            select(element_index(*index, array.len()).and_then(|index| array.get(index)).ok_or(none)?, rest)
        }
        (Value::Array(array), Some(Elements::Slice { start, stop, step })) => {
            let indices =
                slice_indices(array.len(), *start, *stop, *step).ok_or(DynamicErrorKind::BadPath)?;
            let values = indices.into_iter().filter_map(|index| array.get(index));
            array_of(values.map(|value| select(value, rest)).collect::<Result<_, _>>()?)
        }
        (field, Some(_)) => Err(DynamicErrorKind::NoParts { found: describe(field.view()) }),
    }
}

/// The index of an element; negative indices count from the end.
fn element_index(index: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).ok()?;
    usize::try_from(if index < 0 { index.checked_add(len)? } else { index }).ok()
}

/// The indices of a slice; `None` if its step is 0.
fn slice_indices(len: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Option<Vec<usize>> {
    let len = i64::try_from(len).ok()?;
    let (least, most) = if step < 0 { (-1, len - 1) } else { (0, len) };
    let bound = |index: Option<i64>, default: i64| {
        let from_start = |index: i64| if index < 0 { index.saturating_add(len) } else { index };
        index.map_or(default, |index| from_start(index).clamp(least, most))
    };
    let (first, end) = if step < 0 { (most, least) } else { (least, most) };
    let (mut at, end) = (bound(start, first), bound(stop, end));
    let mut indices = Vec::new();
    while step != 0 && if step < 0 { at > end } else { at < end } {
        indices.push(usize::try_from(at).ok()?);
        at = at.saturating_add(step);
    }
    (step != 0).then_some(indices)
}

/// The array of values of one type.
fn array_of(values: Vec<Value>) -> Result<Value, DynamicErrorKind> {
    let mut array = match values.first() {
        Some(Value::Int(_)) => Array::I64(Vec::new()),
        Some(Value::UInt(_)) => Array::U64(Vec::new()),
        Some(Value::F32(_)) => Array::F32(Vec::new()),
        Some(Value::F64(_)) => Array::F64(Vec::new()),
        Some(Value::String(_)) => Array::String(Vec::new()),
        Some(Value::Time(_)) => Array::Time(Vec::new()),
        Some(Value::Duration(_)) => Array::Duration(Vec::new()),
        Some(Value::Message(_)) => Array::Message(Vec::new()),
        Some(Value::Bool(_) | Value::Array(_)) | None => Array::Bool(Vec::new()),
    };
    for value in values {
        let no_parts = |value: Value| DynamicErrorKind::NoParts { found: describe(value.view()) };
        array.push(value).map_err(no_parts)?;
    }
    Ok(Value::Array(array))
}

#[cfg(all(test, feature = "yaml"))]
mod tests {
    use super::*;
    use crate::dynamic::tests::everything;

    #[test]
    fn parts_are_selected_through_arrays() {
        let mut message = DynamicMessage::default_of(&everything()).unwrap();
        message.set("i16s", Array::I16(vec![5, 6, 7])).unwrap();
        message.set("p2[0].x", Value::Int(1)).unwrap();
        message.set("p2[1].x", Value::Int(2)).unwrap();
        assert_eq!(message.select("i16s[1]"), Ok(Value::Int(6)));
        assert_eq!(message.select("/i16s[1:]/"), Ok(Value::Array(Array::I64(vec![6, 7]))));
        assert_eq!(message.select("p2[-1]/x"), Ok(Value::Int(2)));
        assert_eq!(message.select("p2[::-1]/x"), Ok(Value::Array(Array::I64(vec![2, 1]))));
        assert_eq!(message.select("p2[:]"), message.select("p2"));
        for path in ["i16s[3]", "i16s[-4]", "p2/x", "one[0]", "none", "p2[:]/names", "i16s[", "p2[0]/x/y"] {
            assert!(message.select(path).is_err(), "{path}");
        }
    }

    #[test]
    fn slices_are_those_of_python() {
        let slice = |text: &str, len: usize| {
            let part = format!("x[{text}]");
            let elements = step(&part)?.elements?;
            let Elements::Slice { start, stop, step } = elements else { return None };
            slice_indices(len, start, stop, step)
        };
        for (text, expected) in [
            (":", vec![0, 1, 2, 3]),
            ("1:", vec![1, 2, 3]),
            (":-1", vec![0, 1, 2]),
            ("-2:", vec![2, 3]),
            ("::2", vec![0, 2]),
            ("::-1", vec![3, 2, 1, 0]),
            ("2:0:-1", vec![2, 1]),
            ("9:", vec![]),
            ("-9:2", vec![0, 1]),
            ("3:1", vec![]),
        ] {
            assert_eq!(slice(text, 4), Some(expected), "{text}");
        }
        for text in ["::0", "a:", "1:2:3:4", "1.0:"] {
            assert_eq!(slice(text, 4), None, "{text}");
        }
        assert_eq!(slice(":", 0), Some(vec![]));
    }

    #[test]
    fn path_step_is_field_with_or_without_index() {
        assert_eq!(step("x"), Some(Step { field: "x", elements: None }));
        assert_eq!(step("x[-1]"), Some(Step { field: "x", elements: Some(Elements::One(-1)) }));
        for part in ["x[", "x[]", "x[1", "x[1]y", "x[a]"] {
            assert_eq!(step(part), None, "{part}");
        }
    }
}
