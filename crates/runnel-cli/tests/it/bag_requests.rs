//! Recorded requests of services that a player sends again.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use runnel::msgs::std_srvs::srv::{SetBool, SetBoolResponse};
use runnel::{Graphs, Responder};
use runnel_bag::disk::Plain;
use runnel_bag::mcap::{Profile, Writer};
use runnel_bag::{BagWriter, Channel, NewMessage};
use runnel_testkit::process::Peer;

use crate::bag_played::{START, channel, end};
use crate::bag_scene::{Scene, wait_until};

/// A domain for the test.
const LINGER: u16 = 161;

/// An event of the server: it has received a request with `true`.
fn event() -> Vec<u8> {
    // Encapsulation, type of the event, stamp, GID of the client, padding, number, requests, and no response.
    let (encapsulation, kind, stamp, gid) = ([0, 1, 0, 0], [1, 0, 0, 0], [0; 8], [7; 16]);
    let (padding, number, requests, responses) =
        ([0; 4], 1_u64.to_le_bytes(), [1, 0, 0, 0, 1, 0, 0, 0], [0; 4]);
    [&encapsulation[..], &kind, &stamp, &gid, &padding, &number, &requests, &responses].concat()
}

/// Writes `run.mcap` with the event.
fn write(scene: &Scene) {
    let file = Plain::new(File::create_new(scene.path().join("run.mcap")).expect("a new file"));
    let mut writer = Writer::on_disk(file, Profile::Ros2).expect("it begins");
    let (topic, type_name) = ("/power/_service_event".into(), "std_srvs/srv/SetBool_Event".into());
    let events = Channel { topic, type_name, schema: Default::default(), ..channel("") };
    let id = writer.add_channel(&events).expect("a channel");
    let (log_time, event) = (START, event());
    let data = event.as_slice().into();
    let message = NewMessage { channel: id, log_time, publish_time: log_time, sequence: 0, data };
    writer.write(&message).expect("written");
    writer.finish().expect("complete");
}

#[test]
fn player_waits_for_answers_as_long_as_it_lingers() {
    let scene = Scene::ros2(LINGER);
    write(&scene);
    let server = scene.nodes(Graphs::Ros2, &[]);
    let node = server.context.create_node("server").expect("a node");
    let request: Arc<Mutex<Option<Responder<SetBool>>>> = Arc::default();
    let into = Arc::clone(&request);
    let _service = node
        .create_deferred_service::<SetBool>("power", move |_, responder| {
            *into.lock().unwrap_or_else(PoisonError::into_inner) = Some(responder);
        })
        .expect("a service");
    let mut command = scene.runnel(scene.path(), "bag play run.mcap --publish-service-requests");
    // Longer than the test.
    command.env("RUNNEL_LINGER", "600");
    let player = Peer::spawn("player", command).expect("it starts");
    let take = || request.lock().unwrap_or_else(PoisonError::into_inner).take();
    wait_until("the request arrives", || request.lock().unwrap_or_else(PoisonError::into_inner).is_some());
    // The default is one second: a player that does not read the variable gives up.
    thread::sleep(Duration::from_secs(3));
    take().expect("a request").respond(&SetBoolResponse::default());
    let printed = end(player);
    assert!(!printed.contains("without a response"), "{printed}");
}
