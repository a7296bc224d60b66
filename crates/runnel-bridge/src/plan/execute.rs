//! Execution of a plan for one message.

use runnel_core::schema::Arity;
use runnel_core::wire::{Bytes, DecodeErrorKind, Reader};

use super::error::{ConvertError, ConvertErrorKind};
use super::output::Output;
use super::step::{ArrayStep, Item, PickedStep, Step, Walk, Write};

/// What peers may not see of a converted message, or see changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The first field with a time that the other generation cannot represent. It has the nearest time instead.
    pub clamped_time: Option<String>,
    /// The first field with a text that contains a NUL. All bytes are there, but readers in C see the text up to it.
    pub nul_in_text: Option<String>,
    /// The first field with a text that is not UTF-8. Its bytes are unchanged.
    pub invalid_utf8: Option<String>,
}

impl Notes {
    /// True if there is nothing to say.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Each of them as a sentence.
    pub fn remarks(&self) -> Vec<String> {
        [
            (&self.clamped_time, "a time is out of range in the other generation: the nearest one is sent"),
            (
                &self.nul_in_text,
                "a text has a NUL: readers in C, such as rclpy, see only what stands before it",
            ),
            (&self.invalid_utf8, "a text is not UTF-8: its bytes are sent unchanged"),
        ]
        .into_iter()
        .filter_map(|(field, what)| Some(format!("field {}: {what}", field.as_ref()?)))
        .collect()
    }
}

/// See the module's documentation.
pub(super) struct Execution<'a> {
    output: Output<'a>,
    notes: Notes,
}

const NANOS: i64 = 1_000_000_000;

impl<'a> Execution<'a> {
    pub(super) fn new(output: Output<'a>) -> Self {
        Self { output, notes: Notes::default() }
    }

    pub(super) fn into_notes(self) -> Notes {
        self.notes
    }

    pub(super) fn run(&mut self, steps: &[Step], reader: &mut Reader<'_>) -> Result<(), ConvertError> {
        steps.iter().try_for_each(|step| self.step(step, reader))
    }

    fn step(&mut self, step: &Step, reader: &mut Reader<'_>) -> Result<(), ConvertError> {
        match step {
            Step::Run { align, len } => self.copy(reader, *align, *len),
            Step::Bools { count, field } => self.bools(reader, *count).map_err(|error| error.within(field)),
            Step::Time { field } => self.time(reader, field),
            Step::Duration { field } => self.duration(reader, field),
            Step::Text { bound, field } => self.text(reader, *bound, field),
            Step::LogLevel => self.log_level(reader),
            Step::Array(array) => self.array(array, reader).map_err(|error| error.within(&array.field)),
            Step::Message { steps, field } => self.run(steps, reader).map_err(|error| error.within(field)),
            Step::Picked(picked) => self.picked(picked, reader),
            Step::Skip(steps) => self.skip(steps, reader),
            Step::Fill { align, bytes } => {
                self.output.align(*align)?;
                Ok(self.output.put(bytes)?)
            }
            Step::FillText(text) => self.fill_text(text),
        }
    }

    fn copy(&mut self, reader: &mut Reader<'_>, align: usize, len: usize) -> Result<(), ConvertError> {
        reader.align(align)?;
        let bytes = reader.take(len)?;
        self.output.align(align)?;
        self.output.put_source(bytes)?;
        Ok(())
    }

    fn bools(&mut self, reader: &mut Reader<'_>, count: usize) -> Result<(), ConvertError> {
        let copy = self.output.put_source(reader.take(count)?)?;
        match copy.iter().find(|byte| **byte > 1) {
            Some(byte) => Err(DecodeErrorKind::NotABool { byte: *byte }.into()),
            None => Ok(()),
        }
    }

    fn time(&mut self, reader: &mut Reader<'_>, field: &str) -> Result<(), ConvertError> {
        let (seconds, nanoseconds) = time_parts(reader)?;
        let is_ros1 = self.output.is_ros1();
        // The highest bit is 2^31 seconds in ROS 1, the year 2038 and later, and a time before 1970 in ROS 2.
        if seconds >> 31 == 0 {
            return self.put_time(seconds, nanoseconds);
        }
        self.notes.clamped_time.get_or_insert_with(|| field.to_owned());
        match is_ros1 {
            true => self.put_time(0, 0),
            false => self.put_time(i32::MAX as u32, (NANOS - 1) as u32),
        }
    }

    fn duration(&mut self, reader: &mut Reader<'_>, field: &str) -> Result<(), ConvertError> {
        let (seconds, nanoseconds) = time_parts(reader)?;
        if self.output.is_ros1() || nanoseconds >> 31 == 0 {
            return self.put_time(seconds, nanoseconds);
        }
        let nanos = i64::from(seconds as i32) * NANOS + i64::from(nanoseconds as i32);
        match i32::try_from(nanos.div_euclid(NANOS)) {
            Ok(seconds) => self.put_time(seconds as u32, nanos.rem_euclid(NANOS) as u32),
            Err(_) => {
                self.notes.clamped_time.get_or_insert_with(|| field.to_owned());
                self.put_time(i32::MIN as u32, 0)
            }
        }
    }

    fn put_time(&mut self, seconds: u32, nanoseconds: u32) -> Result<(), ConvertError> {
        self.output.align(4)?;
        self.output.put(&seconds.to_le_bytes())?;
        Ok(self.output.put(&nanoseconds.to_le_bytes())?)
    }

    fn text(
        &mut self,
        reader: &mut Reader<'_>,
        bound: Option<usize>,
        field: &str,
    ) -> Result<(), ConvertError> {
        let text = source_text(reader).map_err(|error| error.within(field))?;
        if bound.is_some_and(|bound| text.len() > bound) {
            return Err(ConvertError::new(ConvertErrorKind::BeyondBound { len: text.len() }, field));
        }
        let to_ros2 = !self.output.is_ros1();
        let copy = self.put_text(text)?;
        let (has_nul, is_utf8) = (copy.contains(&0), str::from_utf8(copy).is_ok());
        if to_ros2 {
            self.output.put(&[0])?;
        }
        if has_nul {
            self.notes.nul_in_text.get_or_insert_with(|| field.to_owned());
        }
        if !is_utf8 {
            self.notes.invalid_utf8.get_or_insert_with(|| field.to_owned());
        }
        Ok(())
    }

    fn fill_text(&mut self, text: &str) -> Result<(), ConvertError> {
        self.put_text(text.as_bytes().into())?;
        if self.output.is_ros1() { Ok(()) } else { Ok(self.output.put(&[0])?) }
    }

    /// Appends the count of a text and its bytes, without the zero that ends it in ROS 2.
    fn put_text(&mut self, text: Bytes<'_>) -> Result<&[u8], ConvertError> {
        let end = usize::from(!self.output.is_ros1());
        self.output.put_count(text.len() + end)?;
        Ok(self.output.put_source(text)?)
    }

    fn log_level(&mut self, reader: &mut Reader<'_>) -> Result<(), ConvertError> {
        let [level] = reader.array()?;
        let level = if self.output.is_ros1() { ros1_level(level) } else { ros2_level(level) };
        Ok(self.output.put(&[level])?)
    }

    fn array(&mut self, array: &ArrayStep, reader: &mut Reader<'_>) -> Result<(), ConvertError> {
        let end = reader.enter(array.is_primitive)?;
        let count = match array.from {
            Arity::Fixed(count) => count,
            _ => reader.count(array.min_len)?,
        };
        if !array.to.allows(count) {
            return Err(ConvertError::new(ConvertErrorKind::BeyondBound { len: count }, ""));
        }
        if !matches!(array.to, Arity::Fixed(_)) {
            self.output.put_count(count)?;
        }
        self.items(&array.item, count, reader)?;
        Ok(reader.leave(end)?)
    }

    fn items(&mut self, item: &Item, count: usize, reader: &mut Reader<'_>) -> Result<(), ConvertError> {
        match item {
            _ if count == 0 => Ok(()),
            Item::Run { align, len } => {
                let remaining = reader.rest().len();
                let len =
                    len.checked_mul(count).ok_or(DecodeErrorKind::CountBeyondMessage { count, remaining })?;
                self.copy(reader, *align, len)
            }
            Item::Bools => self.bools(reader, count),
            Item::Steps(steps) => {
                for index in 0..count {
                    self.run(steps, reader).map_err(|error| error.within(&format!("[{index}]")))?;
                }
                Ok(())
            }
        }
    }

    fn picked(&mut self, picked: &PickedStep, reader: &mut Reader<'_>) -> Result<(), ConvertError> {
        let mut positions = vec![*reader; picked.positions];
        for walk in &picked.walk {
            match walk {
                Walk::Note { position } => {
                    if let Some(noted) = positions.get_mut(*position) {
                        *noted = *reader;
                    }
                }
                Walk::Skip(steps) => self.skip(steps, reader)?,
            }
        }
        for write in &picked.writes {
            match write {
                Write::From { position, steps } => {
                    if let Some(noted) = positions.get(*position) {
                        self.run(steps, &mut noted.clone())?;
                    }
                }
                Write::Default(steps) => self.run(steps, reader)?,
            }
        }
        Ok(())
    }

    fn skip(&mut self, steps: &[Step], reader: &mut Reader<'_>) -> Result<(), ConvertError> {
        let before = self.output.set_discarding(true);
        let notes = self.notes.clone();
        let skipped = self.run(steps, reader);
        self.notes = notes;
        self.output.set_discarding(before);
        skipped
    }
}

fn time_parts(reader: &mut Reader<'_>) -> Result<(u32, u32), ConvertError> {
    reader.align(4)?;
    Ok((u32::from_le_bytes(reader.array()?), u32::from_le_bytes(reader.array()?)))
}

/// The bytes of a text. In ROS 2 some peers leave out the zero byte that ends it.
fn source_text<'a>(reader: &mut Reader<'a>) -> Result<Bytes<'a>, ConvertError> {
    let count = reader.count(1)?;
    let bytes = reader.take(count)?;
    if reader.encoding().is_ros1() {
        return Ok(bytes);
    }
    let ended = count.checked_sub(1).and_then(|len| bytes.split_at(len));
    Ok(ended.filter(|(_, end)| end.get(0) == Some(0)).map_or(bytes, |(text, _)| text))
}

/// The level of `rcl_interfaces/msg/Log` for one of `rosgraph_msgs/Log`.
fn ros2_level(level: u8) -> u8 {
    match level {
        0 | 1 => 10,
        2 => 20,
        3..=4 => 30,
        5..=8 => 40,
        _ => 50,
    }
}

/// The level of `rosgraph_msgs/Log` for one of `rcl_interfaces/msg/Log`.
fn ros1_level(level: u8) -> u8 {
    match level {
        0..=10 => 1,
        11..=20 => 2,
        21..=30 => 4,
        31..=40 => 8,
        _ => 16,
    }
}
