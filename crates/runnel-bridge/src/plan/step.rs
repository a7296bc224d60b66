//! Steps of a plan.

use std::sync::Arc;

use runnel_core::schema::Arity;

/// The most bytes of one run, so that lengths cannot overflow.
pub(super) const MAX_RUN: usize = 1 << 24;

/// One step. It reads a part of the source message, or writes a part of the target message, or both.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Numbers that need no padding once the first one is aligned.
    Run { align: usize, len: usize },
    /// Truth values.
    Bools { count: usize, field: Field },
    /// A time, whose seconds are unsigned in ROS 1 and signed in ROS 2.
    Time { field: Field },
    /// A duration, whose nanoseconds are signed in ROS 1.
    Duration { field: Field },
    /// A text with the target's bound.
    Text { bound: Option<usize>, field: Field },
    /// The level of a log line, whose numbers differ.
    LogLevel,
    /// An array.
    Array(Arc<ArrayStep>),
    /// A message.
    Message { steps: Arc<[Step]>, field: Field },
    /// A message whose fields have another order in the target, or another nesting.
    Picked(Arc<PickedStep>),
    /// A part of the source that the target does not have.
    Skip(Arc<[Step]>),
    /// Bytes that the source does not have.
    Fill { align: usize, bytes: Arc<[u8]> },
    /// A text that the source does not have.
    FillText(Arc<str>),
}

/// The name of a field, for errors.
pub(super) type Field = Arc<str>;

#[derive(Debug)]
pub(super) struct ArrayStep {
    pub(super) from: Arity,
    pub(super) to: Arity,
    pub(super) item: Item,
    /// Fewest bytes of an element in the source.
    pub(super) min_len: usize,
    /// Elements are single numbers or truth values, before which XCDR2 has no length.
    pub(super) is_primitive: bool,
    pub(super) field: Field,
}

/// An element of an array.
#[derive(Debug)]
pub(super) enum Item {
    /// Numbers, with padding before the first element only.
    Run { align: usize, len: usize },
    /// Truth values.
    Bools,
    /// Anything else.
    Steps(Vec<Step>),
}

/// See [`Step::Picked`].
#[derive(Debug)]
pub(super) struct PickedStep {
    /// Reads the whole source message.
    pub(super) walk: Vec<Walk>,
    /// Writes the whole target message.
    pub(super) writes: Vec<Write>,
    /// How many positions the walk notes.
    pub(super) positions: usize,
}

/// A step over the source.
#[derive(Debug)]
pub(super) enum Walk {
    /// The next bytes are a field that is needed.
    Note {
        position: usize,
    },
    Skip(Vec<Step>),
}

/// A step over the target.
#[derive(Debug)]
pub(super) enum Write {
    /// A field at a noted position.
    From { position: usize, steps: Vec<Step> },
    /// A default.
    Default(Vec<Step>),
}

/// Appends a step. Runs that need no padding between them become one.
pub(super) fn push(steps: &mut Vec<Step>, step: Step) {
    if let (Some(Step::Run { align, len }), Step::Run { align: next, len: more }) = (steps.last_mut(), &step)
        && *next <= *align
        && *len % *next == 0
        && *len + *more <= MAX_RUN
    {
        *len += *more;
        return;
    }
    if let (Some(Step::Bools { count, .. }), Step::Bools { count: more, .. }) = (steps.last_mut(), &step)
        && *count + *more <= MAX_RUN
    {
        *count += *more;
        return;
    }
    steps.push(step);
}
