//! Service server of `std_srvs/SetBool`: true is answered with the number of the call, false fails.

use interop::messages::{Options, log_to_standard_error};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolResponse};
use runnel::{Context, Error};

fn main() -> Result<(), Error> {
    log_to_standard_error();
    let context = Context::new()?;
    let options = Options::of(&context, &[]);
    let node = context.create_node("server")?;
    let mut calls = 0;
    let _service = node.create_service::<SetBool, _>(&options.topic, move |request| {
        calls += 1;
        println!("asked {calls}");
        match request.data {
            true => Ok(SetBoolResponse { success: true, message: format!("call {calls}") }),
            false => Err("it must stay on"),
        }
    })?;
    println!("ready");
    context.spin()
}
