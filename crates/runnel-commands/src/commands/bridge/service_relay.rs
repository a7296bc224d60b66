//! A service that this bridge carries: a server in one graph that passes calls on to the real server in the other.

use std::sync::Arc;

use runnel::ServiceServer;
use runnel::core::schema::ServiceSchema;
use runnel_bridge::decision::Direction;
use runnel_bridge::{AnnouncedServer, Plan, ServiceTypes};

use super::calls::{Calls, Plans};
use super::resources::Resources;
use super::server_table::{Relay, RelayStatus};

/// See the module's documentation.
pub struct ServiceRelay {
    /// It is dropped before the calls.
    server: Option<ServiceServer>,
    calls: Arc<Calls>,
    announced: AnnouncedServer,
    types: [String; 2],
}

impl ServiceRelay {
    /// Begins to carry the service of this name, whose server announces this type.
    ///
    /// # Errors
    /// Why it cannot be carried.
    pub fn new(
        resources: &Resources<'_>,
        service: &str,
        direction: Direction,
        announced: AnnouncedServer,
    ) -> Result<Self, String> {
        let library = resources.types.library();
        let types = ServiceTypes::find(direction.source(), &announced, library, &resources.rules);
        let types = types.map_err(|error| error.to_string())?;
        let ServiceTypes { ros1, ros2 } = &types;
        let (real, served, nodes) = match direction {
            Direction::ToRos2 => (ros1, ros2, [&resources.ros1, &resources.ros2]),
            Direction::ToRos1 => (ros2, ros1, [&resources.ros2, &resources.ros1]),
        };
        let plans = plans(resources, real, served)?;
        let failed = |error: runnel::Error| error.to_string();
        let client = nodes[0].create_raw_client(service, real).map_err(failed)?;
        let calls = Calls::new(service, direction, client, plans);
        let receiver = Arc::clone(&calls);
        let server = nodes[1].create_raw_service(service, served, move |request| receiver.receive(request));
        let server = Some(server.map_err(failed)?);
        let names = [ros1.name.to_string(), ros2.ros2_name.clone()];
        Ok(Self { server, calls, announced, types: names })
    }
}

fn plans(resources: &Resources<'_>, real: &ServiceSchema, served: &ServiceSchema) -> Result<Plans, String> {
    let compile = |from, to| Plan::compile(from, to, &resources.rules);
    let of = |part: &str, plan: Result<Plan, runnel_bridge::CompileError>| {
        plan.map_err(|error| format!("{part}: {error}"))
    };
    Ok(Plans {
        request: of("request", compile(&served.request, &real.request))?,
        response: of("response", compile(&real.response, &served.response))?,
    })
}

impl Relay for ServiceRelay {
    fn is_of(&self, announced: &AnnouncedServer) -> bool {
        self.announced == *announced
    }

    fn status(&self) -> RelayStatus {
        let [ros1_type, ros2_type] = self.types.clone();
        let (counts, remarks) = self.calls.counts();
        RelayStatus { is_complete: true, ros1_type, ros2_type, counts, remarks }
    }
}

impl Drop for ServiceRelay {
    fn drop(&mut self) {
        // Callers get the reason before their connections end.
        self.calls.close();
        self.server = None;
    }
}
