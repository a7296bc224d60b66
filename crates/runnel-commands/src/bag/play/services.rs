//! The services of the player: those of `rosbag2_player` in ROS 2, and that of `rosbag play` in ROS 1.
//!
//! Source: the definitions of `rosbag2_interfaces`, and what rosbag2 0.26 and rosbag 1.17 do.

use runnel::core::time::{Duration, Time};
use runnel::msgs::rosbag2_interfaces::srv::{
    Burst, BurstResponse, GetRate, GetRateResponse, IsPaused, IsPausedResponse, Pause, PauseResponse, Play,
    PlayNext, PlayNextResponse, PlayRequest, PlayResponse, Resume, ResumeResponse, Seek, SeekResponse,
    SetRate, SetRateResponse, Stop, StopResponse, TogglePaused, TogglePausedResponse,
};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolResponse};
use runnel::{Node, ServiceServer};

use super::control::{Command, PlayRange, Remote};
use crate::error::CliError;

/// Creates the services of a node in ROS 1.
///
/// # Errors
/// When a service cannot be created.
pub fn ros1(node: &Node, remote: &Remote) -> Result<Vec<ServiceServer>, CliError> {
    let remote = remote.clone();
    let pause = node.create_deferred_service::<SetBool>("~pause_playback", move |request, responder| {
        let wanted = request.data;
        remote.send(Command::SetPaused(
            wanted,
            Box::new(move |is_changed| {
                let state = if wanted { "paused" } else { "playing" };
                let message = if is_changed { format!("now {state}") } else { format!("already {state}") };
                responder.respond(&SetBoolResponse { success: is_changed, message });
            }),
        ));
    })?;
    Ok(vec![pause])
}

/// Creates the services of a node in ROS 2.
///
/// # Errors
/// When a service cannot be created.
pub fn ros2(node: &Node, remote: &Remote) -> Result<Vec<ServiceServer>, CliError> {
    let mut services = Vec::from(pausing(node, remote)?);
    services.extend(rates(node, remote)?);
    services.extend(positions(node, remote)?);
    Ok(services)
}

fn pausing(node: &Node, remote: &Remote) -> Result<[ServiceServer; 4], CliError> {
    let remotes = [(); 4].map(|()| remote.clone());
    let [pause, resume, toggle, is_paused] = remotes;
    Ok([
        node.create_deferred_service::<Pause>("~/pause", move |_, responder| {
            let reply = move |_| responder.respond(&PauseResponse::default());
            pause.send(Command::SetPaused(true, Box::new(reply)));
        })?,
        node.create_deferred_service::<Resume>("~/resume", move |_, responder| {
            let reply = move |_| responder.respond(&ResumeResponse::default());
            resume.send(Command::SetPaused(false, Box::new(reply)));
        })?,
        node.create_deferred_service::<TogglePaused>("~/toggle_paused", move |_, responder| {
            let reply = move |()| responder.respond(&TogglePausedResponse::default());
            toggle.send(Command::TogglePause(Box::new(reply)));
        })?,
        node.create_deferred_service::<IsPaused>("~/is_paused", move |_, responder| {
            let reply = move |paused| responder.respond(&IsPausedResponse { paused });
            is_paused.send(Command::IsPaused(Box::new(reply)));
        })?,
    ])
}

fn rates(node: &Node, remote: &Remote) -> Result<[ServiceServer; 2], CliError> {
    let [get, set] = [(); 2].map(|()| remote.clone());
    Ok([
        node.create_deferred_service::<GetRate>("~/get_rate", move |_, responder| {
            let reply = move |rate| responder.respond(&GetRateResponse { rate });
            get.send(Command::Rate(Box::new(reply)));
        })?,
        node.create_deferred_service::<SetRate>("~/set_rate", move |request, responder| {
            let reply = move |success| responder.respond(&SetRateResponse { success });
            set.send(Command::SetRate(request.rate, Box::new(reply)));
        })?,
    ])
}

fn positions(node: &Node, remote: &Remote) -> Result<[ServiceServer; 5], CliError> {
    let [play, next, burst, seek, stop] = [(); 5].map(|()| remote.clone());
    Ok([
        node.create_deferred_service::<Play>("~/play", move |request, responder| {
            let reply = move |success| responder.respond(&PlayResponse { success });
            play.send(Command::Play(again(&request), Box::new(reply)));
        })?,
        node.create_deferred_service::<PlayNext>("~/play_next", move |_, responder| {
            let reply = move |count| responder.respond(&PlayNextResponse { success: count > 0 });
            next.send(Command::Burst(Some(1), Box::new(reply)));
        })?,
        node.create_deferred_service::<Burst>("~/burst", move |request, responder| {
            let reply = move |actually_burst| responder.respond(&BurstResponse { actually_burst });
            let count = Some(request.num_messages).filter(|count| *count > 0);
            burst.send(Command::Burst(count, Box::new(reply)));
        })?,
        node.create_deferred_service::<Seek>("~/seek", move |request, responder| {
            let reply = move |success| responder.respond(&SeekResponse { success });
            // Times before 1970 are before the bag, as 0 is.
            let time = nanoseconds(request.time.sec, request.time.nanosec).unwrap_or_default();
            seek.send(Command::Seek(time, Box::new(reply)));
        })?,
        node.create_deferred_service::<Stop>("~/stop", move |_, responder| {
            let reply = move |()| responder.respond(&StopResponse::default());
            stop.send(Command::Stop(Box::new(reply)));
        })?,
    ])
}

/// What a request asks to play. As in rosbag2, a negative duration and a negative end are no limits. Requests that are
/// left empty mean the whole bag here, while rosbag2 plays nothing then.
fn again(request: &PlayRequest) -> PlayRange {
    let PlayRequest { start_offset, playback_duration, playback_until_timestamp } = request;
    let Duration { sec, nanosec } = *playback_duration;
    let time = |time: &Time| nanoseconds(time.sec, time.nanosec);
    PlayRange {
        start: time(start_offset).unwrap_or_default(),
        duration: nanoseconds(sec, nanosec).filter(|duration| *duration > 0),
        until: time(playback_until_timestamp).filter(|until| *until > 0),
    }
}

/// `None` if it is negative.
fn nanoseconds(sec: i32, nanosec: u32) -> Option<u64> {
    Some(u64::try_from(sec).ok()? * 1_000_000_000 + u64::from(nanosec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_negative_limits_are_none() {
        let request = |duration: i32, until: i32| PlayRequest {
            start_offset: Time { sec: 2, nanosec: 5 },
            playback_duration: Duration { sec: duration, nanosec: 0 },
            playback_until_timestamp: Time { sec: until, nanosec: 0 },
        };
        for (duration, until) in [(0, 0), (-1, -1)] {
            let again = again(&request(duration, until));
            assert_eq!((again.start, again.duration, again.until), (2_000_000_005, None, None));
        }
        let again = again(&request(3, 4));
        assert_eq!((again.duration, again.until), (Some(3_000_000_000), Some(4_000_000_000)));
    }
}
