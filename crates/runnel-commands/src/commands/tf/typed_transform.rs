//! A static transform as it is typed: by options, or by words in the order of the original publishers.

use runnel::tf::{Quaternion, Transform, Vector3};

use super::frame;

/// A typed transform.
#[derive(Debug, PartialEq)]
pub struct TypedTransform {
    pub frame_id: String,
    pub child_frame_id: String,
    pub transform: Transform,
}

/// How a rotation is typed.
pub enum TypedRotation {
    /// Yaw, pitch and roll in radians.
    Angles([f64; 3]),
    /// A quaternion x, y, z, w.
    Quaternion([f64; 4]),
}

impl TypedTransform {
    /// The transform with these frames.
    ///
    /// # Errors
    /// What is wrong with a frame or the rotation.
    pub fn new(
        (frame_id, child_frame_id): (&str, &str),
        translation: [f64; 3],
        rotation: &TypedRotation,
    ) -> Result<Self, String> {
        let named = |what: &str, typed: &str| frame(typed).map_err(|why| format!("{what} {why}"));
        let (frame_id, child_frame_id) =
            (named("the parent frame", frame_id)?, named("the child frame", child_frame_id)?);
        if frame_id == child_frame_id {
            return Err(format!("frame {frame_id} cannot be its own parent"));
        }
        let rotation = match *rotation {
            TypedRotation::Angles([yaw, pitch, roll]) => Quaternion::from_rpy(roll, pitch, yaw),
            TypedRotation::Quaternion([x, y, z, w]) => {
                let typed = Quaternion::new(x, y, z, w).normalized();
                typed.ok_or("the quaternion has no length, so it is no rotation")?
            }
        };
        let [x, y, z] = translation;
        Ok(Self { frame_id, child_frame_id, transform: Transform::new(Vector3::new(x, y, z), rotation) })
    }

    /// The transform of words: `x y z yaw pitch roll frame_id child_frame_id`, or with `qx qy qz qw`. A period in
    /// milliseconds at the end, which tf has, is ignored.
    ///
    /// # Errors
    /// What is wrong, and the expected words.
    pub fn of_words(words: &[String]) -> Result<Self, String> {
        let numbers: Vec<f64> = words.iter().map_while(|word| number(word)).collect();
        let (typed, frames) = words.split_at(numbers.len());
        let frames = match frames {
            [frame_id, child_frame_id] => (frame_id, child_frame_id),
            [frame_id, child_frame_id, period] if number(period).is_some() => (frame_id, child_frame_id),
            _ => return Err(format!("{} words are no transform. Expected: {EXPECTED}", words.len())),
        };
        let (translation, rotation) = match numbers[..] {
            [x, y, z, yaw, pitch, roll] => ([x, y, z], TypedRotation::Angles([yaw, pitch, roll])),
            [x, y, z, qx, qy, qz, qw] => ([x, y, z], TypedRotation::Quaternion([qx, qy, qz, qw])),
            _ => return Err(format!("{} numbers are no transform. Expected: {EXPECTED}", typed.len())),
        };
        Self::new((frames.0, frames.1), translation, &rotation)
    }
}

const EXPECTED: &str =
    "X Y Z YAW PITCH ROLL FRAME_ID CHILD_FRAME_ID, or X Y Z QX QY QZ QW FRAME_ID CHILD_FRAME_ID";

fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<TypedTransform, String> {
        TypedTransform::of_words(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_of_both_originals_are_read() {
        let angles = words("1 -2 0.5 0.1 0.2 0.3 base camera").unwrap();
        assert_eq!((&*angles.frame_id, &*angles.child_frame_id), ("base", "camera"));
        assert_eq!(angles.transform.translation, Vector3::new(1.0, -2.0, 0.5));
        assert_eq!(angles.transform.rotation, Quaternion::from_rpy(0.3, 0.2, 0.1));
        assert_eq!(words("1 -2 0.5 0.1 0.2 0.3 /base /camera 100").unwrap(), angles, "as in tf");
        let quaternion = words("0 0 0 0 0 2 0 base camera").unwrap();
        assert_eq!(quaternion.transform.rotation, Quaternion::new(0.0, 0.0, 1.0, 0.0));
    }

    #[test]
    fn wrong_words_are_named() {
        assert!(words("1 2 3 base camera").unwrap_err().starts_with("3 numbers are no transform"));
        assert!(words("1 2 3 4 5 6 base").unwrap_err().starts_with("7 words are no transform"));
        assert!(words("1 2 3 4 5 6 base camera x").unwrap_err().starts_with("9 words are no transform"));
        assert_eq!(words("1 2 3 4 5 6 a /a").unwrap_err(), "frame a cannot be its own parent");
        assert!(words("1 2 3 0 0 0 0 a b").unwrap_err().contains("no rotation"));
        assert!(words("1 2 3 4 5 6 / b").unwrap_err().starts_with("the parent frame must be"));
    }
}
