//! Calls a service of std_srvs/SetBool in ROS 2 once. Prints `answered MESSAGE`.

use std::env;

use interop::ros2_options::print_line;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest};
use runnel::{Context, ContextOptions, Error, Graphs};

fn main() -> Result<(), Error> {
    let service = env::args().nth(1).expect("a service");
    let context = Context::with_options(ContextOptions::default().arguments([""; 0]).graphs(Graphs::Ros2))?;
    let client = context.create_node("caller")?.create_client::<SetBool>(&service)?;
    let response = client.call(&SetBoolRequest { data: true })?;
    print_line(&format!("answered {}", response.message));
    Ok(())
}
