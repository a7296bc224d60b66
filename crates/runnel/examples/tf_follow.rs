//! A frame `carrot` that circles around `turtle`, and where it is in `world`: broadcasters and a listener in one node.
//!
//! `runnel tf view_frames` draws the tree meanwhile, and `runnel tf echo world carrot` prints the same.

use std::time::Duration;

use runnel::msgs::geometry_msgs::msg::TransformStamped;
use runnel::tf::{
    Buffer, LATEST, Quaternion, StaticTransformBroadcaster, Transform, TransformBroadcaster,
    TransformListener, Vector3,
};
use runnel::{Context, Error, Node, Rate};

/// How fast the carrot circles, in radians per second, and at which distance in metres.
const SPEED: f64 = 0.5;
const DISTANCE: f64 = 2.0;

fn main() -> Result<(), Error> {
    let context = Context::new()?;
    let node = context.create_node("tf_follow")?;
    let turtle = Transform::new(Vector3::new(5.0, 1.0, 0.0), Quaternion::IDENTITY);
    let fixed = StaticTransformBroadcaster::new(&node)?;
    fixed.send_transform(&stamped(&node, "world", "turtle", turtle))?;
    let broadcaster = TransformBroadcaster::new(&node)?;
    let buffer = Buffer::new(&context);
    let _listener = TransformListener::new(&node, &buffer)?;
    let start = node.now();
    let mut rate = Rate::new(&context, 10.0)?;
    while context.ok() {
        let angle = SPEED * (node.now() - start).as_secs_f64();
        let turned = Quaternion::from_rpy(0.0, 0.0, angle);
        let carrot = Transform::new(turned.rotate(Vector3::new(DISTANCE, 0.0, 0.0)), turned);
        broadcaster.send_transform(&stamped(&node, "turtle", "carrot", carrot))?;
        match buffer.wait_for_transform("world", "carrot", LATEST, Duration::from_secs(1)) {
            Ok(found) => {
                println!("{:.2} {:.2}", found.transform.translation.x, found.transform.translation.y)
            }
            Err(why) => eprintln!("{why}"),
        }
        rate.sleep()?;
    }
    Ok(())
}

fn stamped(node: &Node, parent: &str, child: &str, transform: Transform) -> TransformStamped {
    let mut message = TransformStamped { transform: transform.into(), ..TransformStamped::default() };
    message.header.stamp = node.now();
    (message.header.frame_id, message.child_frame_id) = (parent.into(), child.into());
    message
}
