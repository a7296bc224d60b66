//! Type descriptions from the definitions in the generated types.

use runnel_core::message::{Message, Service};
use runnel_core::schema::TypeDescription;

fn describes_itself<M: Message>() -> usize {
    // A part of a service or an action is described with it, and ROS 2 has no messages of actionlib.
    let of_actionlib = ["Action", "ActionGoal", "ActionResult", "ActionFeedback"];
    if !M::ROS2_TYPE.contains("/msg/") || of_actionlib.iter().any(|end| M::ROS2_TYPE.ends_with(end)) {
        return 0;
    }
    let found = TypeDescription::of_message(M::ROS2_TYPE, M::ROS2_DEFINITION).unwrap();
    assert_eq!((found.own.name.as_str(), found.hash.as_str()), (M::ROS2_TYPE, M::RIHS01));
    let sources = found.sources.iter().skip(1).map(|source| source.type_name.as_str());
    assert!(found.referenced.iter().map(|one| one.name.as_str()).eq(sources), "{}", M::ROS2_TYPE);
    assert!(found.sources.iter().all(|source| source.encoding == "msg"), "{}", M::ROS2_TYPE);
    1
}

#[test]
fn definition_of_each_message_gives_its_hash() {
    macro_rules! each {
        ($($module:ident :: $kind:ident :: $name:ident,)*) => {
            [$(describes_itself::<runnel_msgs::$module::$kind::$name>(),)*]
        };
    }
    let count: usize = runnel_msgs::each_message!(each).iter().sum();
    assert!(count > 150, "{count}");
}

fn service_describes_itself<S: Service>() {
    let (request, response) = (S::Request::ROS2_DEFINITION, S::Response::ROS2_DEFINITION);
    let found = TypeDescription::of_service(S::ROS2_TYPE, request, response).unwrap();
    assert_eq!((found.own.name.as_str(), found.hash.as_str()), (S::ROS2_TYPE, S::RIHS01));
}

#[test]
fn definitions_of_service_give_its_hash() {
    service_describes_itself::<runnel_msgs::std_srvs::srv::SetBool>();
    service_describes_itself::<runnel_msgs::std_srvs::srv::Empty>();
    service_describes_itself::<runnel_msgs::nav_msgs::srv::GetPlan>();
    service_describes_itself::<runnel_msgs::rcl_interfaces::srv::SetParameters>();
    service_describes_itself::<runnel_msgs::lifecycle_msgs::srv::GetAvailableTransitions>();
    service_describes_itself::<runnel_msgs::type_description_interfaces::srv::GetTypeDescription>();
}
