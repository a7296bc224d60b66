//! Why a look-up has no answer, and why a transform is not stored. The texts begin as those of tf2, which users know.

use core::fmt;

use runnel_core::time::Time;

/// Why a transform cannot be looked up. The variants are the exceptions of tf2.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransformError {
    /// A frame is unknown: nothing was received about it yet, or its name is wrong. tf2's `LookupException`.
    Lookup {
        /// The argument that names it, such as `target_frame`.
        argument: &'static str,
        /// The frame.
        frame: String,
    },
    /// The frames belong to trees without a connection. tf2's `ConnectivityException`.
    Connectivity {
        /// The frame to transform to.
        target: String,
        /// The frame to transform from.
        source: String,
    },
    /// The transform of a frame is not known at the requested time. tf2's `ExtrapolationException`.
    Extrapolation {
        /// The requested time.
        requested: Time,
        /// The time that is known.
        available: Available,
        /// The frame whose transform to its parent is not known at that time.
        frame: String,
        /// The frame to transform to.
        target: String,
        /// The frame to transform from.
        source: String,
    },
    /// A frame name in the arguments is not valid. tf2's `InvalidArgumentException`.
    InvalidArgument {
        /// The argument, such as `source_frame`.
        argument: &'static str,
        /// The name.
        frame: String,
    },
    /// Frames are each other's parents, by a fault of their broadcasters. tf2 has a `LookupException` for it.
    Loop {
        /// A frame of the loop.
        frame: String,
    },
}

/// The time at which a transform is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Available {
    /// Only at this time.
    Only(Time),
    /// Until this time; a later one was requested.
    Until(Time),
    /// Since this time; an earlier one was requested.
    Since(Time),
}

impl fmt::Display for TransformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lookup { argument, frame } => {
                write!(f, "\"{frame}\" passed to lookupTransform argument {argument} does not exist.")
            }
            Self::Connectivity { target, source } => write!(
                f,
                "Could not find a connection between '{target}' and '{source}' because they are not part of the same \
                 tree. Tf has two or more unconnected trees."
            ),
            Self::Extrapolation { requested, available, frame, target, source } => write!(
                f,
                "Lookup would require extrapolation {}, when looking up transform from frame [{source}] to frame \
                 [{target}]; it is the transform of frame [{frame}]",
                Described { requested, available: *available }
            ),
            Self::InvalidArgument { argument, frame } if frame.is_empty() => write!(
                f,
                "Invalid argument passed to lookupTransform argument {argument} in tf2 frame_ids cannot be empty"
            ),
            Self::InvalidArgument { argument, frame } => write!(
                f,
                "Invalid argument \"{frame}\" passed to lookupTransform argument {argument} in tf2 frame_ids cannot \
                 start with a '/'"
            ),
            Self::Loop { frame } => {
                write!(f, "The tf tree is invalid because it contains a loop. Frame [{frame}] is part of it.")
            }
        }
    }
}

/// Requested and available time.
struct Described<'a> {
    requested: &'a Time,
    available: Available,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requested = self.requested;
        match self.available {
            Available::Only(time) => write!(f, "at time {requested}, but only time {time} is in the buffer"),
            Available::Until(time) => {
                write!(
                    f,
                    "into the future.  Requested time {requested} but the latest data is at time {time}"
                )
            }
            Available::Since(time) => {
                write!(
                    f,
                    "into the past.  Requested time {requested} but the earliest data is at time {time}"
                )
            }
        }
    }
}

impl core::error::Error for TransformError {}

/// Why the buffer does not store a transform. tf2 logs these with the same codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertError {
    /// A frame is its own parent.
    SelfTransform,
    /// The child frame has no name.
    NoChildFrameId,
    /// The parent frame has no name.
    NoFrameId,
    /// A number is not finite.
    NotFinite,
    /// The quaternion does not have length 1.
    DenormalizedQuaternion,
    /// The transform is older than the cache time.
    OldData,
    /// The buffer has a transform of the frame with the same time.
    RepeatedData,
    /// A frame name is longer than the limit.
    NameTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// There are too many frames.
    TooManyFrames {
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SelfTransform => f.write_str("TF_SELF_TRANSFORM: frame_id and child_frame_id are the same"),
            Self::NoChildFrameId => f.write_str("TF_NO_CHILD_FRAME_ID: child_frame_id is not set"),
            Self::NoFrameId => f.write_str("TF_NO_FRAME_ID: frame_id is not set"),
            Self::NotFinite => f.write_str("TF_NAN_INPUT: a number is not finite"),
            Self::DenormalizedQuaternion => {
                f.write_str("TF_DENORMALIZED_QUATERNION: the quaternion does not have length 1")
            }
            Self::OldData => f.write_str("TF_OLD_DATA: it is older than the cache time"),
            Self::RepeatedData => {
                f.write_str("TF_REPEATED_DATA: a transform of the frame with this time is known")
            }
            Self::NameTooLong { limit } => write!(f, "a frame name is longer than {limit} bytes"),
            Self::TooManyFrames { limit } => write!(f, "there are {limit} frames, which is the limit"),
        }
    }
}

impl core::error::Error for InsertError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn extrapolation(available: Available) -> String {
        let requested = Time { sec: 5, nanosec: 1 };
        let [frame, target, source] = ["odom", "map", "base"].map(str::to_owned);
        TransformError::Extrapolation { requested, available, frame, target, source }.to_string()
    }

    #[test]
    fn extrapolation_names_times_frames_and_transform() {
        let of =
            "when looking up transform from frame [base] to frame [map]; it is the transform of frame [odom]";
        let known = Time { sec: 4, nanosec: 0 };
        assert_eq!(
            extrapolation(Available::Until(known)),
            format!(
                "Lookup would require extrapolation into the future.  Requested time 5.000000001 but the latest data \
                 is at time 4.000000000, {of}"
            )
        );
        assert!(
            extrapolation(Available::Since(known))
                .contains("into the past.  Requested time 5.000000001 but the earliest")
        );
        assert!(
            extrapolation(Available::Only(known))
                .contains("at time 5.000000001, but only time 4.000000000 is in the")
        );
    }

    #[test]
    fn other_errors_begin_as_those_of_tf2() {
        let unknown = TransformError::Lookup { argument: "target_frame", frame: "map".into() };
        assert_eq!(
            unknown.to_string(),
            "\"map\" passed to lookupTransform argument target_frame does not exist."
        );
        let [target, source] = ["map", "base"].map(str::to_owned);
        let apart = TransformError::Connectivity { target, source }.to_string();
        assert!(apart.starts_with(
            "Could not find a connection between 'map' and 'base' because they are not part of the same tree."
        ));
        let invalid =
            |frame: &str| TransformError::InvalidArgument { argument: "source_frame", frame: frame.into() };
        assert!(invalid("").to_string().ends_with("source_frame in tf2 frame_ids cannot be empty"));
        assert!(invalid("/a").to_string().ends_with("source_frame in tf2 frame_ids cannot start with a '/'"));
        let looped = TransformError::Loop { frame: "a".into() }.to_string();
        assert!(looped.starts_with("The tf tree is invalid because it contains a loop."));
    }
}
