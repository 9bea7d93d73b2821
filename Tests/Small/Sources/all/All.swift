// Each library of the package is compiled for the small build.
import Larkspur
import LarkspurCurl
import LarkspurFleet
import LarkspurImages
import LarkspurInsight
import LarkspurTesting
import LarkspurURLSession
import LarkspurXML
