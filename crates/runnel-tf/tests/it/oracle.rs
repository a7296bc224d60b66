//! A naive store of transforms: a list that is searched from one end to the other, with matrices.

use runnel_core::time::Time;
use runnel_msgs::geometry_msgs::msg::TransformStamped;

/// Rows of a matrix for homogeneous coordinates.
pub type Matrix = [[f64; 4]; 4];

const IDENTITY: Matrix =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// Kind of a failed look-up.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    Unknown,
    Unconnected,
    Extrapolation,
}

/// See the module's documentation.
#[derive(Default)]
pub struct Oracle {
    known: Vec<(String, String, i64, Matrix)>,
}

impl Oracle {
    pub fn add(&mut self, message: &TransformStamped) {
        let (child, parent) = (message.child_frame_id.clone(), message.header.frame_id.clone());
        self.known.push((child, parent, message.header.stamp.as_nanos(), matrix(message)));
    }

    /// The matrix that takes coordinates in `source` to `target`.
    pub fn look_up(&self, target: &str, source: &str, at: Time) -> Result<Matrix, Failure> {
        if target == source {
            return Ok(IDENTITY);
        }
        for frame in [target, source] {
            if !self.known.iter().any(|(child, parent, ..)| child == frame || parent == frame) {
                return Err(Failure::Unknown);
            }
        }
        let from_source = self.ancestors(source, at.as_nanos());
        let from_target = self.ancestors(target, at.as_nanos());
        for (frame, up) in &from_source.0 {
            if let Some((_, down)) = from_target.0.iter().find(|(other, _)| other == frame) {
                return Ok(product(&inverse(down), up));
            }
        }
        Err(if from_source.1 || from_target.1 { Failure::Extrapolation } else { Failure::Unconnected })
    }

    /// A frame and its ancestors, each with the matrix from the frame to it, and whether a time was missing.
    fn ancestors(&self, frame: &str, stamp: i64) -> (Vec<(String, Matrix)>, bool) {
        let mut all = vec![(frame.to_owned(), IDENTITY)];
        loop {
            let (last, below) = all.last().unwrap().clone();
            match self.parent(&last, stamp) {
                None => return (all, false),
                Some(None) => return (all, true),
                Some(Some((parent, up))) => all.push((parent, product(&up, &below))),
            }
        }
    }

    /// The parent at a time: none, none at this time, or a frame and the matrix to it.
    fn parent(&self, frame: &str, stamp: i64) -> Option<Option<(String, Matrix)>> {
        let of_frame = || self.known.iter().filter(|(child, ..)| child == frame);
        of_frame().next()?;
        let before = of_frame().filter(|known| known.2 <= stamp).max_by_key(|known| known.2);
        let after = of_frame().filter(|known| known.2 >= stamp).min_by_key(|known| known.2);
        let (Some(before), Some(after)) = (before, after) else { return Some(None) };
        if before.2 == after.2 || before.1 != after.1 {
            return Some(Some((before.1.clone(), before.3)));
        }
        let ratio = (stamp - before.2) as f64 / (after.2 - before.2) as f64;
        Some(Some((before.1.clone(), between(&before.3, &after.3, ratio))))
    }
}

fn matrix(message: &TransformStamped) -> Matrix {
    let (t, q) = (message.transform.translation, message.transform.rotation);
    let (x, y, z, w) = (q.x, q.y, q.z, q.w);
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w), t.x],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w), t.y],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y), t.z],
        [0.0, 0.0, 0.0, 1.0],
    ]
}

/// The matrix of a message with the same transform.
pub fn matrix_of(message: &TransformStamped) -> Matrix {
    matrix(message)
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let cell = |row: usize, column: usize| (0..4).map(|k| a[row][k] * b[k][column]).sum();
    std::array::from_fn(|row| std::array::from_fn(|column| cell(row, column)))
}

fn inverse(m: &Matrix) -> Matrix {
    let mut inverse = IDENTITY;
    for row in 0..3 {
        for column in 0..3 {
            inverse[row][column] = m[column][row];
        }
        inverse[row][3] = -(0..3).map(|k| m[k][row] * m[k][3]).sum::<f64>();
    }
    inverse
}

/// The rotation turned by a part of the angle about the axis that leads to the other; the position on the line.
fn between(from: &Matrix, to: &Matrix, ratio: f64) -> Matrix {
    let turn = product(&inverse(from), to);
    let axis = [turn[2][1] - turn[1][2], turn[0][2] - turn[2][0], turn[1][0] - turn[0][1]];
    let length = axis.iter().map(|part| part * part).sum::<f64>().sqrt();
    let angle = (length / 2.0).atan2((turn[0][0] + turn[1][1] + turn[2][2] - 1.0) / 2.0);
    let unit = axis.map(|part| if length > 0.0 { part / length } else { 0.0 });
    let mut result = product(from, &rotation(unit, angle * ratio));
    for row in 0..3 {
        result[row][3] = from[row][3] + (to[row][3] - from[row][3]) * ratio;
    }
    result
}

/// Rodrigues' rotation by an angle about an axis.
fn rotation([x, y, z]: [f64; 3], angle: f64) -> Matrix {
    let (sine, cosine) = angle.sin_cos();
    let rest = 1.0 - cosine;
    [
        [cosine + x * x * rest, x * y * rest - z * sine, x * z * rest + y * sine, 0.0],
        [y * x * rest + z * sine, cosine + y * y * rest, y * z * rest - x * sine, 0.0],
        [z * x * rest - y * sine, z * y * rest + x * sine, cosine + z * z * rest, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
}
