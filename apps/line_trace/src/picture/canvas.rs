//! An image to draw on with soft edges, and its encoding as PNG.

use super::glyphs;
use std::io::{self, Write};

/// Red, green and blue, 0 to 255.
pub(super) type Colour = [u8; 3];

/// A place on the canvas in pixels: x to the right, y down, whole numbers between the pixels.
pub(super) type Spot = (f64, f64);

/// Pixels from the top left, row by row.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Colour>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize, background: Colour) -> Self {
        Self { width, height, pixels: vec![background; width * height] }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Sets one pixel; a place beyond the canvas is passed over.
    pub(super) fn set(&mut self, column: usize, row: usize, colour: Colour) {
        self.blend(column, row, colour, 1.0);
    }

    /// A straight stroke with round ends; from a place to itself, a dot.
    pub(super) fn stroke(&mut self, from: Spot, to: Spot, width: f64, colour: Colour) {
        let reach = width / 2.0 + 1.0;
        for row in span(from.1.min(to.1) - reach, from.1.max(to.1) + reach, self.height) {
            for column in span(from.0.min(to.0) - reach, from.0.max(to.0) + reach, self.width) {
                let centre = (column as f64 + 0.5, row as f64 + 0.5);
                let cover = (width / 2.0 + 0.5 - distance(centre, from, to)).clamp(0.0, 1.0);
                self.blend(column, row, colour, cover);
            }
        }
    }

    /// Strokes from each place to the next.
    pub(super) fn polyline(&mut self, spots: &[Spot], width: f64, colour: Colour) {
        for pair in spots.windows(2) {
            self.stroke(pair[0], pair[1], width, colour);
        }
    }

    /// Text that begins at `at`, on the base line; capitals are written small. `unit` is a sixth of the height
    /// of a digit, in pixels.
    pub(super) fn text(&mut self, at: Spot, unit: f64, text: &str, colour: Colour) {
        let mut left = at.0;
        for letter in text.chars() {
            let glyph = glyphs::glyph(letter);
            for line in &glyph.lines {
                let spots: Vec<Spot> =
                    line.iter().map(|(x, y)| (left + x * unit, at.1 - (y - glyphs::BASE) * unit)).collect();
                self.polyline(&spots, unit * 0.9, colour);
            }
            left += glyph.advance * unit;
        }
    }

    /// Text with its middle at `at`.
    pub(super) fn centred_text(&mut self, at: Spot, unit: f64, text: &str, colour: Colour) {
        self.text((at.0 - text_width(unit, text) / 2.0, at.1), unit, text, colour);
    }

    pub(super) fn write_png(&self, writer: impl Write) -> io::Result<()> {
        let (width, height) = (to_u32(self.width)?, to_u32(self.height)?);
        let mut encoder = png::Encoder::new(writer, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut image = encoder.write_header()?;
        image.write_image_data(self.pixels.as_flattened())?;
        Ok(image.finish()?)
    }

    #[cfg(test)]
    pub(super) fn pixel(&self, column: usize, row: usize) -> Colour {
        self.pixels[row * self.width + column]
    }

    fn blend(&mut self, column: usize, row: usize, colour: Colour, cover: f64) {
        if column >= self.width {
            return;
        }
        if let Some(pixel) = self.pixels.get_mut(row * self.width + column) {
            *pixel = mix(*pixel, colour, cover);
        }
    }
}

/// How many pixels wide a text is.
pub(super) fn text_width(unit: f64, text: &str) -> f64 {
    let advance: f64 = text.chars().map(|letter| glyphs::glyph(letter).advance).sum();
    (advance - glyphs::GAP).max(0.0) * unit
}

/// The colour `share` of the way from one to another.
pub(super) fn mix(from: Colour, to: Colour, share: f64) -> Colour {
    std::array::from_fn(|i| {
        (f64::from(from[i]) + (f64::from(to[i]) - f64::from(from[i])) * share).round() as u8
    })
}

/// The whole numbers from `low` to `high` that are below `limit`.
fn span(low: f64, high: f64, limit: usize) -> std::ops::Range<usize> {
    low.max(0.0) as usize..(high.max(0.0).ceil() as usize).min(limit)
}

/// From a spot to the nearest place on the stroke between two others.
fn distance(spot: Spot, from: Spot, to: Spot) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length_squared = dx * dx + dy * dy;
    let along = ((spot.0 - from.0) * dx + (spot.1 - from.1) * dy) / length_squared;
    let along = if length_squared > 0.0 { along.clamp(0.0, 1.0) } else { 0.0 };
    (spot.0 - from.0 - along * dx).hypot(spot.1 - from.1 - along * dy)
}

fn to_u32(size: usize) -> io::Result<u32> {
    u32::try_from(size).map_err(|_| io::Error::other("the picture is too large for a PNG"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE: Colour = [255; 3];
    const BLACK: Colour = [0; 3];

    #[test]
    fn a_stroke_is_full_inside_and_soft_at_its_edge() {
        let mut canvas = Canvas::new(20, 20, WHITE);
        canvas.stroke((2.0, 10.0), (18.0, 10.0), 3.0, BLACK);
        assert_eq!(canvas.pixel(10, 9), BLACK);
        assert_eq!(canvas.pixel(10, 3), WHITE);
        let edge = canvas.pixel(10, 11)[0];
        assert!((1..255).contains(&edge), "{edge}");
    }

    #[test]
    fn a_stroke_from_a_place_to_itself_is_a_dot() {
        let mut canvas = Canvas::new(9, 9, WHITE);
        canvas.stroke((4.5, 4.5), (4.5, 4.5), 3.0, BLACK);
        assert_eq!((canvas.pixel(4, 4), canvas.pixel(0, 0)), (BLACK, WHITE));
    }

    #[test]
    fn drawing_beyond_the_canvas_is_cut_off() {
        let mut canvas = Canvas::new(4, 4, WHITE);
        canvas.stroke((-50.0, 2.0), (1e9, 2.0), 2.0, BLACK);
        canvas.set(4, 2, BLACK);
        canvas.set(0, 9, BLACK);
        assert_eq!((canvas.pixel(0, 1), canvas.pixel(0, 0), canvas.pixel(0, 3)), (BLACK, WHITE, WHITE));
    }

    #[test]
    fn text_leaves_ink_within_its_width_only() {
        let mut canvas = Canvas::new(200, 40, WHITE);
        canvas.text((10.0, 30.0), 3.0, "0.3 m/s", BLACK);
        let right = 10.0 + text_width(3.0, "0.3 m/s");
        let inked = |column: usize| (0..40).any(|row| canvas.pixel(column, row) != WHITE);
        assert!((10..right as usize).filter(|column| inked(*column)).count() > 40);
        assert!(!(right as usize + 3..200).any(inked));
    }

    #[test]
    fn the_png_gives_the_pixels_back() {
        let mut canvas = Canvas::new(3, 2, WHITE);
        canvas.set(2, 1, [1, 2, 3]);
        let mut bytes = Vec::new();
        canvas.write_png(&mut bytes).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height), (3, 2));
        assert_eq!((&pixels[..3], &pixels[15..18]), (&WHITE[..], &[1, 2, 3][..]));
    }
}
