//! Tests of loaned messages for subscribers of both graphs.

use std::sync::Arc;

use crate::common::LONG;
use crate::two_graphs::{Received, TwoGraphs};
use runnel::core::Message;
use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::sensor_msgs::msg::{Image, PointCloud2};
use runnel::{Loan, Publisher, QoS};

/// More than a datagram holds.
const PIXELS: usize = 200_000;

fn image() -> Image {
    let mut image = Image { height: 100, width: 2000, encoding: "mono8".into(), ..Image::default() };
    image.header.frame_id = "camera".into();
    image
}

fn filled(fill: u8) -> Image {
    Image { data: vec![fill; PIXELS], ..image() }
}

fn lent(publisher: &Publisher<Image>, fill: u8) -> Loan {
    let mut loan = publisher.loan(&image(), PIXELS).unwrap();
    loan.fill(fill);
    loan
}

#[test]
fn loan_reaches_ros2_only_subscribers() {
    let graphs = TwoGraphs::new();
    let publisher = graphs.both.create_node("camera").unwrap().create_publisher::<Image>("image", 5).unwrap();
    let viewer = graphs.ros2.create_node("viewer").unwrap();
    let received = Received::<Image>::on(&viewer, "image", 5);
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    for (count, fill) in [(1, 7), (2, 8)] {
        lent(&publisher, fill).publish().unwrap();
        graphs.spin_until("it is seen", || received.len() == count);
        assert!(received.last_of(count) == filled(fill));
    }
    assert_eq!(publisher.published(), 2);
}

#[test]
fn loan_reaches_subscribers_that_joined_during_write() {
    let graphs = TwoGraphs::new();
    let publisher = graphs.both.create_node("camera").unwrap().create_publisher::<Image>("image", 5).unwrap();
    let (ros1, ros2) = (graphs.ros1.create_node("one").unwrap(), graphs.ros2.create_node("two").unwrap());
    let nobody_yet = lent(&publisher, 1);
    let two = Received::<Image>::on(&ros2, "image", 5);
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    nobody_yet.publish().unwrap();
    graphs.spin_until("the loan without subscribers arrives in ROS 2", || two.len() == 1);
    assert!(two.last_of(1) == filled(1));
    let for_ros2 = lent(&publisher, 2);
    let one = Received::<Image>::on(&ros1, "image", 5);
    assert!(publisher.wait_for_subscribers(2, LONG).unwrap());
    for_ros2.publish().unwrap();
    graphs.spin_until("what was for ROS 2 is seen in both", || one.len() == 1 && two.len() == 2);
    lent(&publisher, 3).publish().unwrap();
    graphs.spin_until("what was for both is seen in both", || one.len() == 2 && two.len() == 3);
    assert!(two.last_of(3) == filled(3));
    let mut seen = one.last_of(2);
    // Only ROS 1 has a sequence number.
    assert_ne!(seen.header.seq, 0);
    seen.header.seq = 0;
    assert!(seen == filled(3));
}

#[test]
fn latched_loan_reaches_late_joiners_of_both_graphs() {
    let graphs = TwoGraphs::new();
    let camera = graphs.both.create_node("camera").unwrap();
    let publisher = camera.create_publisher::<Image>("image", QoS::latched()).unwrap();
    lent(&publisher, 9).publish().unwrap();
    let (ros1, ros2) = (graphs.ros1.create_node("one").unwrap(), graphs.ros2.create_node("two").unwrap());
    let one = Received::<Image>::on(&ros1, "image", QoS::latched());
    let two = Received::<Image>::on(&ros2, "image", QoS::latched());
    graphs.spin_until("it is seen in both", || one.len() == 1 && two.len() == 1);
    assert!(one.last_of(1) == filled(9) && two.last_of(1) == filled(9));
}

#[test]
fn local_subscriber_receives_loan() {
    let graphs = TwoGraphs::new();
    let camera = graphs.both.create_node("camera").unwrap();
    let publisher = camera.create_publisher::<Image>("image", 5).unwrap();
    let near = Received::<Image>::on(&camera, "image", 5);
    let viewer = graphs.ros2.create_node("viewer").unwrap();
    let far = Received::<Image>::on(&viewer, "image", 5);
    assert!(publisher.wait_for_subscribers(2, LONG).unwrap());
    lent(&publisher, 4).publish().unwrap();
    graphs.spin_until("both see it", || near.len() == 1 && far.len() == 1);
    assert!(near.last_of(1) == filled(4) && far.last_of(1) == filled(4));
}

#[test]
fn dynamic_loan_reaches_both_graphs() {
    for generation in Generation::ALL {
        let graphs = TwoGraphs::new();
        let schema: Arc<Schema> = runnel::msgs::library()
            .message_in(generation, &TypeName::parse(PointCloud2::TYPE).unwrap())
            .unwrap();
        let talker = graphs.both.create_node("lidar").unwrap();
        let publisher = talker.create_dynamic_publisher("points", &schema, 5).unwrap();
        let (ros1, ros2) = (graphs.ros1.create_node("one").unwrap(), graphs.ros2.create_node("two").unwrap());
        let (one, two) = (
            Received::<PointCloud2>::on(&ros1, "points", 5),
            Received::<PointCloud2>::on(&ros2, "points", 5),
        );
        assert!(publisher.wait_for_subscribers(2, LONG).unwrap());
        let cloud =
            PointCloud2 { width: 1000, data: vec![5; 16_000], is_dense: true, ..PointCloud2::default() };
        let encoding = if generation == Generation::Ros1 { Encoding::Ros1 } else { Encoding::Xcdr1 };
        let bytes = cdr::encode(&cloud, encoding).unwrap();
        let mut loan = publisher.loan(bytes.len()).unwrap();
        loan.copy_from_slice(&bytes);
        loan.publish().unwrap();
        graphs.spin_until("both receive it", || one.len() == 1 && two.len() == 1);
        assert!(one.last_of(1) == cloud && two.last_of(1) == cloud, "{generation:?}");
        let mut nonsense = publisher.loan(2).unwrap();
        nonsense.fill(0xff);
        assert!(matches!(nonsense.publish(), Err(runnel::Error::Transcode { .. })));
    }
}
