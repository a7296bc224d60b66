//! Cameras that `bench/recording` has recorded: `recording TOPICS RATE SECONDS BYTES CONTENT PATH`.
//!
//! Publishes RATE images of BYTES a second for SECONDS, in turn on the topics `camera_0` to `camera_(TOPICS-1)`, from loaned
//! memory. CONTENT is `noise`, which no compression shortens, or `scene`, as a camera sees it. With the PATH `memory` the
//! links must use shared memory before it begins; with `network` they may.
//!
//! Prints `ready` when each topic has a subscriber, waits for a line, publishes, prints the numbers of messages by topic, the
//! seconds that it took and the latest sending in milliseconds, and ends when standard input does.
//! `bench/peers/recording/cameras.cpp` is the same in roscpp.

use std::env;
use std::error::Error;
use std::io::{self, Read};
use std::time::Duration;

use runnel::msgs::sensor_msgs::msg::Image;
use runnel::msgs::std_msgs::msg::Header;
use runnel::{Context, ContextOptions, Publisher, QoS};
use runnel_floor::now;

/// Time limit of a subscriber to appear.
const LONG: Duration = Duration::from_secs(60);

/// How often the path of the links is checked.
const STEP: Duration = Duration::from_millis(10);

/// Images of one topic that may wait for a subscriber.
const DEPTH: usize = 50;

/// Distinct images, which are sent in turn.
const IMAGES: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [topics, rate, seconds, bytes, content, path] = arguments.as_slice() else {
        return Err("usage: recording TOPICS RATE SECONDS BYTES noise|scene memory|network".into());
    };
    let [topics, rate, seconds, bytes]: [Result<u64, _>; 4] =
        [topics, rate, seconds, bytes].map(|word| word.parse());
    let load = Load { rate: rate?, seconds: seconds?, images: images(content, bytes? as usize)? };
    let context = Context::with_options(ContextOptions::default().arguments([""; 0]).signals(false))?;
    let node = context.create_node("cameras")?;
    let camera = |topic| node.create_publisher::<Image>(&format!("camera_{topic}"), QoS::keep_last(DEPTH));
    let cameras: Vec<_> = (0..topics?).map(camera).collect::<Result<_, _>>()?;
    wait_for_subscribers(&context, &cameras, path == "memory")?;
    println!("ready");
    io::stdin().read_line(&mut String::new())?;
    println!("{}", load.publish(&context, &cameras)?);
    let ending = context.clone();
    std::thread::spawn(move || {
        // An error is an end, too.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        ending.shutdown();
    });
    Ok(context.spin()?)
}

fn wait_for_subscribers(
    context: &Context,
    cameras: &[Publisher<Image>],
    by_memory: bool,
) -> Result<(), Box<dyn Error>> {
    let late = now() + LONG.as_nanos() as u64;
    for camera in cameras {
        if !camera.wait_for_subscribers(1, LONG)? {
            return Err(format!("no subscriber of {}", camera.topic()).into());
        }
        while by_memory && camera.shared_memory_count() == 0 {
            if now() > late {
                return Err(format!("{}: no handover to shared memory", camera.topic()).into());
            }
            context.sleep_wall(STEP)?;
        }
    }
    Ok(())
}

/// What is published, and when.
struct Load {
    rate: u64,
    seconds: u64,
    images: Vec<Vec<u8>>,
}

impl Load {
    /// Publishes all. Returns the report.
    fn publish(&self, context: &Context, cameras: &[Publisher<Image>]) -> Result<String, Box<dyn Error>> {
        let (start, mut late) = (now(), 0);
        let mut sent = vec![0_u64; cameras.len()];
        for number in 0..self.rate * self.seconds {
            let due = start + number * 1_000_000_000 / self.rate;
            if due > now() {
                context.sleep_wall(Duration::from_nanos(due.saturating_sub(now())))?;
            }
            late = now().saturating_sub(due).max(late);
            let camera = number as usize % cameras.len();
            let pixels = &self.images[number as usize % self.images.len()];
            let mut loan = cameras[camera].loan(&image(number, pixels.len()), pixels.len())?;
            loan.copy_from_slice(pixels);
            loan.publish()?;
            sent[camera] += 1;
        }
        let seconds = (now() - start) as f64 / 1e9;
        let sent: Vec<String> = sent.iter().map(u64::to_string).collect();
        Ok(format!(
            "{{\"sent\": [{}], \"seconds\": {seconds:.3}, \"late_ms\": {:.1}}}",
            sent.join(", "),
            late as f64 / 1e6
        ))
    }
}

/// An image without its pixels, in rows of 1024.
fn image(number: u64, bytes: usize) -> Image {
    const STEP: u32 = 1024;
    let header = Header { seq: number as u32, frame_id: "camera".to_owned(), ..Header::default() };
    let height = (bytes as u32).div_ceil(STEP);
    Image { header, height, width: STEP, step: STEP, encoding: "mono8".to_owned(), ..Image::default() }
}

fn images(content: &str, bytes: usize) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let mut pixel = |place: usize, number: usize| match content {
        "noise" => Some(noise()),
        // A slope of light with two bits of the sensor's noise.
        "scene" => Some(((place % 1024 + place / 1024 + 16 * number) / 8) as u8 ^ (noise() & 3)),
        _ => None,
    };
    let images = (0..IMAGES).map(|number| (0..bytes).map(|place| pixel(place, number)).collect());
    images.collect::<Option<_>>().ok_or_else(|| format!("unknown content {content}").into())
}
