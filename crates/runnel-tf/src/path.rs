//! Paths between frames: up from the source to the first common ancestor, and down to the target.

use runnel_core::time::Time;

use crate::buffer_core::BufferCore;
use crate::error::{Available, TransformError};
use crate::frame_names::FrameId;
use crate::history::Position;
use crate::transform::Transform;

/// The two frames of a look-up.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) target: FrameId,
    pub(crate) source: FrameId,
}

/// At which time parents are followed.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// At this time in nanoseconds.
    At(i64),
    /// Each at the time of its latest transform.
    Latest,
}

/// A frame with a parent, and where the time lies in its history.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) frame: FrameId,
    position: Position,
}

/// The frames below the common ancestor, from the source and from the target.
pub(crate) struct Path {
    pub(crate) from_source: Vec<Step>,
    pub(crate) from_target: Vec<Step>,
}

impl Path {
    /// The frame in which both parts end.
    pub(crate) fn ancestor(&self, buffer: &BufferCore) -> Option<FrameId> {
        let last = self.from_source.last().or_else(|| self.from_target.last())?;
        buffer.history(last.frame)?.parent(last.position)
    }
}

/// The steps from a frame towards the root, and where they end.
struct Chain {
    steps: Vec<Step>,
    last: FrameId,
    /// The transform of the last frame is not known at the time.
    gap: Option<Available>,
}

impl BufferCore {
    /// The path between two frames.
    pub(crate) fn path(&self, ends: Ends, when: When) -> Result<Path, TransformError> {
        let mut source = self.chain(ends.source, ends.target, when)?;
        if source.last == ends.target {
            return Ok(Path { from_source: source.steps, from_target: Vec::new() });
        }
        let mut target = self.chain(ends.target, ends.source, when)?;
        if target.last == ends.source {
            return Ok(Path { from_source: Vec::new(), from_target: target.steps });
        }
        // From a common frame on, both chains are the same.
        if source.last != target.last {
            return Err(self.unconnected(ends, when, &source, &target));
        }
        let is_same = |(one, other): &(&Step, &Step)| one.frame == other.frame;
        let common = source.steps.iter().rev().zip(target.steps.iter().rev()).take_while(is_same).count();
        source.steps.truncate(source.steps.len() - common);
        target.steps.truncate(target.steps.len() - common);
        Ok(Path { from_source: source.steps, from_target: target.steps })
    }

    /// The transform from the source to the target along a path at a time.
    pub(crate) fn transform_along(&self, path: &Path, stamp: i64) -> Transform {
        let to_ancestor = |steps: &[Step]| {
            steps.iter().fold(Transform::IDENTITY, |below, step| self.step(*step, stamp) * below)
        };
        let source = to_ancestor(&path.from_source);
        if path.from_target.is_empty() { source } else { to_ancestor(&path.from_target).inverse() * source }
    }

    /// Follows parents from a frame, until `wanted` or the root.
    fn chain(&self, from: FrameId, wanted: FrameId, when: When) -> Result<Chain, TransformError> {
        let mut chain = Chain { steps: Vec::new(), last: from, gap: None };
        while chain.last != wanted {
            let Some(history) = self.history(chain.last) else { break };
            let position = match when {
                When::At(stamp) => history.find(stamp),
                When::Latest => Ok(history.latest_position()),
            };
            let position = match position {
                Ok(position) => position,
                Err(available) => {
                    chain.gap = Some(available);
                    break;
                }
            };
            let Some(parent) = history.parent(position) else { break };
            chain.steps.push(Step { frame: chain.last, position });
            chain.last = parent;
            // Without a loop, no frame comes twice.
            if chain.steps.len() > self.names.len() {
                return Err(TransformError::Loop { frame: self.names.name(chain.last).to_owned() });
            }
        }
        Ok(chain)
    }

    fn step(&self, step: Step, stamp: i64) -> Transform {
        self.history(step.frame)
            .map_or(Transform::IDENTITY, |history| history.transform(step.position, stamp))
    }

    /// Why two chains do not meet.
    fn unconnected(&self, ends: Ends, when: When, source: &Chain, target: &Chain) -> TransformError {
        let name = |frame| self.names.name(frame).to_owned();
        let gap = |chain: &Chain| Some((chain.gap?, chain.last));
        let ends_at_gap = gap(target).or_else(|| gap(source));
        match (ends_at_gap, when) {
            (Some((available, frame)), When::At(stamp)) => TransformError::Extrapolation {
                requested: Time::from_nanos(stamp),
                available,
                frame: name(frame),
                target: name(ends.target),
                source: name(ends.source),
            },
            _ => TransformError::Connectivity { target: name(ends.target), source: name(ends.source) },
        }
    }
}
