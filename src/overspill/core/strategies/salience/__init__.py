"""Line salience: how much each line of an output matters for the next step, from its bytes and its neighbours."""
