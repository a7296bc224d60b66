// Server of an action of actionlib/Test with concurrent goals. Goal 1 succeeds, 2 is aborted, 3 is rejected; 4 is active,
// with feedback 7, until it is canceled; 5 is pending until it is canceled.
#include <actionlib/TestAction.h>
#include <actionlib/server/action_server.h>

#include "peer.hpp"

using Server = actionlib::ActionServer<actionlib::TestAction>;
using Goal = Server::GoalHandle;

static actionlib::TestResult result(int value) {
  actionlib::TestResult result;
  result.result = value;
  return result;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "action_server");
  const peer::Options options(argc, argv, {});
  std::vector<Goal> goals;
  const auto on_goal = [&](Goal goal) {
    const int number = goal.getGoal()->goal;
    std::cout << "goal " << number << std::endl;
    goals.push_back(goal);
    if (number == 3) {
      goal.setRejected(result(3), "too much");
    } else if (number != 5) {
      goal.setAccepted();
    }
    if (number == 1) {
      goal.setSucceeded(result(1), "reached");
    } else if (number == 2) {
      goal.setAborted(result(2), "no way");
    } else if (number == 4) {
      actionlib::TestFeedback feedback;
      feedback.feedback = 7;
      goal.publishFeedback(feedback);
    }
  };
  const auto on_cancel = [](Goal goal) {
    const int number = goal.getGoal()->goal;
    std::cout << "cancel " << number << std::endl;
    goal.setCanceled(result(number), "as you wish");
  };
  ros::NodeHandle node;
  Server server(node, options.topic, on_goal, on_cancel, false);
  server.start();
  std::cout << "ready" << std::endl;
  ros::spin();
  return 0;
}
