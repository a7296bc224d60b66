// Server of an action of actionlib/Test with one goal at a time. Goal 1 succeeds, 2 is aborted, any other is active, with
// feedback 7, until it is preempted.
#include <actionlib/TestAction.h>
#include <actionlib/server/simple_action_server.h>

#include "peer.hpp"

using Server = actionlib::SimpleActionServer<actionlib::TestAction>;

static actionlib::TestResult result(int value) {
  actionlib::TestResult result;
  result.result = value;
  return result;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "simple_action_server");
  const peer::Options options(argc, argv, {});
  ros::NodeHandle node;
  Server* serving = nullptr;
  const auto execute = [&](const actionlib::TestGoalConstPtr& goal) {
    std::cout << "goal " << goal->goal << std::endl;
    if (goal->goal == 1) {
      serving->setSucceeded(result(1), "reached");
    } else if (goal->goal == 2) {
      serving->setAborted(result(2), "no way");
    } else {
      actionlib::TestFeedback feedback;
      feedback.feedback = 7;
      serving->publishFeedback(feedback);
      while (!serving->isPreemptRequested() && ros::ok()) ros::WallDuration(0.01).sleep();
      serving->setPreempted(result(goal->goal), "as you wish");
    }
  };
  Server server(node, options.topic, execute, false);
  serving = &server;
  server.start();
  std::cout << "ready" << std::endl;
  ros::spin();
  return 0;
}
